-- name: documents.at
SELECT namespace, key AS id, content, fields, model, '' AS vectors, created_at, updated_at FROM documents
WHERE user_id = :user_id AND (namespace, key) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(zipped(:namespaces, :names)))

-- name: documents.put
INSERT INTO documents (user_id, namespace, key, content, fields, model, vectors, created_at, updated_at)
SELECT :user_id, json_extract(value, '$.namespace'), json_extract(value, '$.id'), json_extract(value, '$.content'),
       json_extract(value, '$.fields'), json_extract(value, '$.model'), json_extract(value, '$.vectors'),
       :created_at, :created_at
FROM json_each(:rows) WHERE true
ON CONFLICT (user_id, namespace, key) DO UPDATE SET content = excluded.content, fields = excluded.fields,
    model = excluded.model, vectors = excluded.vectors, updated_at = excluded.updated_at

-- name: documents.embedded
UPDATE documents AS old SET model = :model, vectors = new.vectors
FROM (SELECT json_extract(value, '$.namespace') AS namespace, json_extract(value, '$.id') AS id,
    json_extract(value, '$.vectors') AS vectors, moment(json_extract(value, '$.updated_at')) AS updated_at
    FROM json_each(:rows) LIMIT -1) AS new
WHERE old.user_id = :user_id AND old.namespace = new.namespace AND old.key = new.id AND old.updated_at = new.updated_at

-- name: documents.remove
DELETE FROM documents
WHERE user_id = :user_id AND (namespace, key) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(zipped(:namespaces, :names)))
RETURNING key AS id
