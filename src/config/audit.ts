/** The block `audit`: the log of actions with actor and object. A part of the schema in `schema.ts`. */
import { z } from 'zod'
import { cidr } from './values.ts'

export const audit = z.strictObject({
  enabled: z.boolean().default(true).describe('whether the audit log is written'),
  file: z
    .string()
    .min(1)
    .optional()
    .describe(
      'a file to which its lines are appended; default: standard output, where each line begins with `{"log":"audit",`',
    ),
  trustedProxies: z
    .array(cidr)
    .default([])
    .describe(
      'CIDRs of the ingress and of proxies before it, whose X-Forwarded-For is trusted; from other senders it is only logged as a claim',
    ),
})

export type AuditConfig = z.infer<typeof audit>
