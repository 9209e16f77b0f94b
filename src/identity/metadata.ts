/** Schemas of a user's data in identity sources. Null is the same as missing; unknown keys are ignored. */
import { z } from 'zod'
import type { NotebookQuota } from '../base/domain.ts'

const gibibyte = 2 ** 30

/** Optional; null is the same as missing. */
export function absentable<T extends z.ZodType>(schema: T) {
  return z
    .union([schema, z.null()])
    .transform(value => value ?? undefined)
    .optional()
}

/** A UID or GID; 2³² − 1 means "none" to POSIX. */
export const posixId = z.number().int().min(0).max(4_294_967_294)

export const group = z
  .object({ name: z.string().min(1), id: absentable(posixId) })
  .transform(({ name, id }) => (id === undefined ? { name } : { name, id }))

/** The quota for labs in Gafaelfawr's form: CPUs, GiB, and whether labs are allowed at all. */
export const notebookQuota = z
  .object({
    cpu: absentable(z.number().nonnegative()),
    memory: absentable(z.number().nonnegative()),
    spawn: absentable(z.boolean()),
  })
  .transform(
    ({ cpu, memory, spawn }): NotebookQuota => ({
      spawn: spawn ?? true,
      ...(cpu !== undefined && { cpu }),
      ...(memory !== undefined && { memoryBytes: Math.round(memory * gibibyte) }),
    }),
  )
