/** The description and the example of the routes of GraphQL, for the document. */
import { graphqlBounds } from './graphql-bounds.ts'

export const graphqlWords = `GraphQL by the names of PrimeHub: one query or mutation in JSON. The schema can be asked for (\`__schema\`). What
the fields do is what the routes of REST do, with the same rights; docs/apps-graphql.md has each.

The answer to a query that could be read is always 200: what was refused is in \`errors\`, with the error of REST in \`extensions\`. A query
has at most ${graphqlBounds.tokens} tokens, ${graphqlBounds.depth} levels, ${graphqlBounds.fields} fields and ${graphqlBounds.roots} questions, and
there is one operation in a request. No selection names a field more than ${graphqlBounds.repeats} times, and an answer has 4 MiB at most. Each
question counts as a read, each mutation as a change, or as a creation.`

export const graphqlQuery =
  'query ($where: PhApplicationWhereUniqueInput!) { phApplication(where: $where) { id status } }'
export const graphqlExample = { data: { phApplication: { id: 'mlflow', status: 'Ready' } } }
