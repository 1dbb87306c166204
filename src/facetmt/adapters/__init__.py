"""The bandit in other people's training loops. Each library is imported only in the file named after it."""
