-- name: documents.at
SELECT namespace, key AS id, content, fields, model, '' AS vectors, created_at, updated_at FROM documents
WHERE user_id = :user_id AND (namespace, key) IN (SELECT * FROM unnest(:namespaces::text[], :names::text[]))

-- name: documents.under
-- Those of a namespace, and of those inside it: `inside` is what their names begin with, of `length` characters.
SELECT namespace, key AS id, content, fields, model, vectors, created_at, updated_at FROM documents
WHERE user_id = :user_id AND (substr(namespace, 1, :length) = :inside OR namespace = :namespace)
ORDER BY updated_at DESC, namespace, key

-- name: documents.namespaces
SELECT DISTINCT namespace FROM documents WHERE user_id = :user_id ORDER BY namespace

-- name: documents.put
INSERT INTO documents (user_id, namespace, key, content, fields, model, vectors, created_at, updated_at)
SELECT :user_id, new.namespace, new.id, new.content, new.fields, new.model, new.vectors, :created_at, :created_at
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    namespace text, id text, content text, fields text, model text, vectors text)
ON CONFLICT (user_id, namespace, key) DO UPDATE SET content = excluded.content, fields = excluded.fields,
    model = excluded.model, vectors = excluded.vectors, updated_at = excluded.updated_at

-- name: documents.embedded
-- What was put anew meanwhile has its own.
UPDATE documents AS old SET model = :model, vectors = new.vectors
FROM jsonb_to_recordset(:rows::jsonb) AS new(namespace text, id text, vectors text, updated_at timestamptz)
WHERE old.user_id = :user_id AND old.namespace = new.namespace AND old.key = new.id AND old.updated_at = new.updated_at

-- name: documents.remove
DELETE FROM documents
WHERE user_id = :user_id AND (namespace, key) IN (SELECT * FROM unnest(:namespaces::text[], :names::text[]))
RETURNING key AS id

-- name: documents.drop
DELETE FROM documents WHERE user_id = :user_id RETURNING key AS id
