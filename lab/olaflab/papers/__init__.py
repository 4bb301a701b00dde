"""The papers, a shelf each: their tables and figures, made again and shown beside the papers' own."""
