"""The one exception that means "the user can fix this": shown as one sentence, exit code 2, no traceback."""


class UserError(Exception):
    """A mistake in a recipe, a corpus or a command; the message says what, where, and what to do."""
