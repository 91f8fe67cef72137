"""Where jobs are kept. Nothing above this package knows SQL, SQLite or its errors."""
