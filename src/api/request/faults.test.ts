/** Metrics of unsuccessful answers, and their `loc`. */
import { describe, expect, it } from 'vitest'
import { api, apiParts, detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { misconfigured, unavailable } from '../../base/errors.ts'
import { createStaticIdentity } from '../../identity/static.ts'
import { silentLogger } from '../../telemetry/log.ts'

describe('createApi’s unsuccessful answers', () => {
  it('with 500 are counted as defects, or as misconfigured', async () => {
    const { metrics } = apiParts()
    const call = api(
      {
        running: () => Promise.reject(new Error('unforeseen')),
        create: () => Promise.reject(misconfigured(['a Secret is missing'])),
        status: () => Promise.reject(unavailable('comparing', 3)),
      },
      { metrics },
    )
    const asked = [
      await call('GET', 'labs', 'hub'),
      await call('POST', 'labs/rra/create', 'rra', jsonBody({ options: {} })),
      await call('POST', 'labs/rra/create', 'rra', jsonBody({ options: {} })),
      await call('GET', 'labs/rra', 'hub'),
      await call('GET', 'labs', 'rra'),
    ]
    expect(asked.map(({ status }) => status)).toEqual([500, 500, 500, 503, 403])
    const counted = (await metrics.httpFaults.get()).values.map(({ labels, value }) => [labels.reason, value])
    expect(counted).toEqual([
      ['defect', 1],
      ['misconfigured', 2],
    ])
  })

  it('with 405 make one series per route, whatever methods were tried', async () => {
    const { metrics } = apiParts()
    const call = api({}, { metrics })
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST', 'OPTIONS']) await call(method, 'user-status')
    const { values } = await metrics.httpRequestDuration.get()
    const counts = values.filter(({ metricName }) => metricName?.endsWith('_count'))
    expect(counts.map(({ labels, value }) => [labels.method, labels.status, value])).toEqual([['other', '405', 5]])
  })

  it('about a name that is not in the path have no loc', async () => {
    const identity = createStaticIdentity(
      [{ username: 'a'.repeat(4), token: 'long-token', scopes: ['exec:notebook', 'admin:jupyterlab'], groups: [] }],
      silentLogger(),
    )
    const call = api({}, { identity }, { limits: { maxUsernameBytes: 3 } })
    for (const path of ['user-status', 'labs', 'images']) {
      expect(await detailOf(await call('GET', path, 'long'))).not.toHaveProperty('loc')
    }
    const { loc } = await detailOf(await call('GET', 'labs/long-name', 'long'))
    expect(loc).toEqual(['path', 'username'])
    expect(await detailOf(await api()('GET', 'user-status', 'rra'))).not.toHaveProperty('loc')
  })
})
