/** A toleration, of labs and of apps. */
import { z } from 'zod'
import { labelValue, qualifiedName } from './values.ts'

export const toleration = z.strictObject({
  key: qualifiedName.optional().describe('key of the taint; without a key, any taint'),
  operator: z.enum(['Exists', 'Equal']).optional().describe('default: Equal'),
  value: labelValue.optional().describe('value of the taint, for Equal'),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional().describe('default: all of them'),
  tolerationSeconds: z.number().int().optional().describe('how long NoExecute is tolerated; default: for ever'),
})
