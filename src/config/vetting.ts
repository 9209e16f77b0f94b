/** The block `tenants.vetting`: what is done when a Kubernetes version gives users of tenants something that nobody vetted. */
import { z } from 'zod'
import { seconds } from './values.ts'

export const vetting = z.strictObject({
  onUnvetted: z
    .enum(['off', 'warn', 'freeze'])
    .default('warn')
    .describe(
      'what follows when the cluster gives other rights or kinds than were vetted: `warn` logs and counts them, `freeze` also grants nothing while it lasts (revocations go on), `off` compares nothing',
    ),
  files: z
    .array(z.string())
    .default([])
    .describe(
      'states that `skylab vet --write` made, at most one for each version of Kubernetes; for the versions of these files they replace what the program brings',
    ),
  intervalSeconds: seconds(3_600).describe('interval of the comparisons of a replica; each takes four requests'),
})
