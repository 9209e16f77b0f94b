import { expect, it } from 'vitest'
import { exampleLab } from '../../../test/kit/api/scripted-api.ts'
import { labStatusJson } from './json.ts'
import { labStatus } from './schemas.ts'

it('labStatusJson returns the example of SQR-066 field by field, with ids of events', () => {
  expect(JSON.parse(JSON.stringify(labStatusJson(exampleLab())))).toEqual({
    username: 'rra',
    status: 'running',
    pod: 'present',
    internal_url: 'http://nublado-rra/nb-rra:8888',
    options: {
      enable_debug: false,
      image_list: 'lsstsqre/sciplat-lab:w_2022_37',
      reset_user_env: false,
      size: 'large',
    },
    env: { JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api' },
    uid: 4266950,
    gid: 4266950,
    groups: [
      { name: 'lsst-data-management', id: 170034 },
      { name: 'rra', id: 4266950 },
    ],
    quotas: {
      limits: { cpu: 4, memory: 12884901888 },
      requests: { cpu: 4, memory: 1073741824 },
    },
    events: [
      { event: 'info', data: 'lab creation initiated for rra', id: '7-1' },
      { event: 'progress', data: '2', id: '7-2' },
      { event: 'complete', data: 'Operation complete for rra', id: '7-3' },
    ],
  })
})

it.each([
  ['pending', true],
  ['terminating', true],
  ['failed', true],
  ['running', false],
] as const)('labStatusJson has no internal_url when %s and the pod is present: %s', (status, podPresent) => {
  const json = labStatusJson(exampleLab({ status, podPresent }))
  expect(json).not.toHaveProperty('internal_url')
  expect(json.pod).toBe(podPresent ? 'present' : 'missing')
})

it('labStatusJson shows no more of a view than the specification', () => {
  const { view } = exampleLab()
  const richer = { ...view, plan: 'secret', groups: [{ name: 'rra', id: 1, secret: 'secret' }] }
  expect(JSON.stringify(labStatusJson(exampleLab({ view: richer })))).not.toContain('secret')
})

it('labStatusJson returns what the schema declares', () => {
  expect(labStatus.strict().parse(labStatusJson(exampleLab()))).toBeDefined()
})
