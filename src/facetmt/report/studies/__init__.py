"""What a study found: its summary, and the tables and plots made from summaries."""
