import { expect, it } from 'vitest'
import { metricsReference } from './reference.ts'
import { servedMetrics } from './testing.ts'

it('is what docs/metrics.md says (npm run unit -- src/telemetry/reference -u writes it anew)', async () => {
  await expect(await metricsReference(servedMetrics())).toMatchFileSnapshot('../../docs/metrics.md')
})
