-- The cosines of the memories that match a question's words, and of the hundred nearest; `half` if the first 8 numbers of a vector
-- are 0.
    SELECT memory, -(vector <#> %(vector)s::halfvec) AS cosine, l2_norm(subvector(vector, 1, 8)) = 0 AS half FROM kept.vectors
    WHERE role = current_user AND model = %(model)s AND vector_dims(vector) = {size} AND memory IN (
        SELECT rowid FROM worded UNION ALL (
            SELECT memory FROM kept.vectors WHERE role = current_user AND model = %(model)s AND vector_dims(vector) = {size}
            ORDER BY vector::halfvec({size}) <#> %(vector)s::halfvec({size}) LIMIT 100))
