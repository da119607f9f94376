"""Tables, charts and documents, made from a summary or a store, never from a model."""
