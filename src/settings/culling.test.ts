/** The environment of Kubeflow's controller, for a process that takes its place. */
import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { withCulling } from './culling.ts'

const config = (more: object = {}) => configSchema.parse({ run: ['notebooks'], idle: { enabled: true }, ...more })
const on = { ENABLE_CULLING: 'true' }

describe('withCulling', () => {
  it('adds a last rule for notebooks by kernels alone, without a warning, with the defaults of Kubeflow', () => {
    const first = { name: 'first', match: { kinds: ['notebook'], images: ['gpu'] }, idleTimeoutSeconds: 9000 }
    const { idle } = withCulling(config({ idle: { enabled: true, rules: [first] } }), on).config
    expect(idle.rules.map(({ name }) => name)).toEqual(['first', 'environment'])
    expect(idle.rules[1]).toMatchObject({
      ...{ match: { kinds: ['notebook'] }, sources: ['kernels'], idleTimeoutSeconds: 86_400, warnSeconds: 0 },
    })
    expect(idle.checkPeriodSeconds).toBe(60)
  })

  it('takes both times in minutes', () => {
    const env = { ...on, CULL_IDLE_TIME: '5', IDLENESS_CHECK_PERIOD: '10', CLUSTER_DOMAIN: 'x', DEV: 'true' }
    const { config: changed, warnings } = withCulling(config(), env)
    expect(changed.idle.rules[0]!.idleTimeoutSeconds).toBe(300)
    expect([changed.idle.checkPeriodSeconds, changed.idle.restPeriodSeconds]).toEqual([600, 600])
    expect(warnings).toEqual([])
  })

  it.each(['0', '-5', '1.5', '5m', 'x', ' 5', '1e3', '999999999'])(
    'takes the default instead of %j, and says so',
    text => {
      const { config: changed, warnings } = withCulling(config(), {
        ...{ ...on, CULL_IDLE_TIME: text, IDLENESS_CHECK_PERIOD: text },
      })
      expect(changed.idle).toMatchObject({ checkPeriodSeconds: 60, rules: [{ idleTimeoutSeconds: 86_400 }] })
      expect(warnings).toEqual([
        'IDLENESS_CHECK_PERIOD: is not a whole number of minutes, so the default of 1 counts',
        'CULL_IDLE_TIME: is not a whole number of minutes, so the default of 1440 counts',
      ])
    },
  )

  it.each([undefined, '', 'false', 'True', '1'])('changes nothing when ENABLE_CULLING is %j', value => {
    const given = config()
    expect(withCulling(given, { ENABLE_CULLING: value, CULL_IDLE_TIME: 'x' })).toEqual({ config: given, warnings: [] })
  })

  it('changes nothing of a process for labs', () => {
    const given = configSchema.parse({ idle: { enabled: true } })
    expect(withCulling(given, on)).toEqual({ config: given, warnings: [] })
  })
})
