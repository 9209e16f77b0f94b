/** Parameters and rows as BigQuery's REST has them: every value is a text beside its type. Pure. */
import { z } from 'zod'

type Scalar = 'STRING' | 'INT64' | 'BOOL'
/** Names of fields with their types. */
export type Fields = Readonly<Record<string, Scalar>>

const typeOf = (fields: Fields) => ({
  type: 'ARRAY',
  arrayType: {
    type: 'STRUCT',
    structTypes: Object.entries(fields).map(([name, type]) => ({ name, type: { type } })),
  },
})

export const scalar = (name: string, type: Scalar, value: string | boolean) => ({
  name,
  parameterType: { type },
  parameterValue: { value: String(value) },
})

/** A list of structures. */
export const structures = <F extends Fields>(
  name: string,
  fields: F,
  values: readonly Readonly<Record<keyof F, string | number | boolean>>[],
) => ({
  name,
  parameterType: typeOf(fields),
  parameterValue: {
    arrayValues: values.map(each => ({
      structValues: Object.fromEntries(Object.keys(fields).map(field => [field, { value: String(each[field]) }])),
    })),
  },
})

const row = z.object({ f: z.array(z.object({ v: z.string().nullable() })) })

/** What both `jobs.query` and `jobs.getQueryResults` answer. */
export const answerSchema = z.object({
  jobComplete: z.boolean(),
  jobReference: z.object({ jobId: z.string(), location: z.string().nullish() }).nullish(),
  schema: z.object({ fields: z.array(z.object({ name: z.string() })) }).nullish(),
  rows: z.array(row).nullish(),
  pageToken: z.string().nullish(),
})
export type QueryAnswer = z.output<typeof answerSchema>

export const errorSchema = z.object({
  error: z.object({ message: z.string(), errors: z.array(z.object({ reason: z.string().nullish() })).nullish() }),
})

export type ReadRow = Readonly<Record<string, string | null>>

export function rowsOf({ schema, rows }: QueryAnswer): readonly ReadRow[] {
  const names = (schema?.fields ?? []).map(({ name }) => name)
  return (rows ?? []).map(({ f }) => Object.fromEntries(names.map((name, index) => [name, f[index]?.v ?? null])))
}
