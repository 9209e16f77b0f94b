import { describe, expect, it } from 'vitest'
import type { LabView } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { parseView, viewText } from './view.ts'

const view: LabView = {
  username: 'rra',
  options: { enable_debug: false, image_list: 'lsstsqre/sciplat-lab:w_2022_37', reset_user_env: false, size: 'large' },
  env: { JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api', JUPYTERHUB_API_TOKEN: '***' },
  uid: 4266950,
  gid: 4266950,
  groups: [{ name: 'lsst-data-management', id: 170034 }],
  quotas: { limits: { cpu: 4, memory: 12884901888 }, requests: { cpu: 4, memory: 1073741824 } },
  internalUrl: 'http://nb-rra.nublado-rra:8888/nb/user/rra/',
}

it('parseView returns the view that viewText wrote', () => {
  expect(parseView(viewText(view))).toEqual(view)
})

it('viewText refuses a view that is too large for an annotation', () => {
  const large = { ...view, env: { A: 'ä'.repeat(120 * 1024) } }
  const refused = (() => {
    try {
      return viewText(large)
    } catch (error) {
      return error
    }
  })()
  expect(refused).toBeInstanceOf(ApiError)
  expect(refused).toMatchObject({ status: 422, detail: [{ loc: ['body', 'env'] }] })
})

describe('parseView of a changed text', () => {
  it.each(['', '{', 'null', '[]', '"x"', '{}'])('returns null for %j', text => {
    expect(parseView(text)).toBeNull()
  })

  it.each(['username', 'uid', 'gid', 'quotas', 'internalUrl'])('returns null without %s', key => {
    expect(parseView(JSON.stringify({ ...view, [key]: undefined }))).toBeNull()
    expect(parseView(JSON.stringify({ ...view, [key]: { limits: { cpu: 1, memory: 'x' } } }))).toBeNull()
  })

  it('returns null without the annotation', () => {
    expect(parseView(undefined)).toBeNull()
  })

  it('keeps the valid part of all other fields', () => {
    const text = JSON.stringify({
      ...view,
      options: { size: 'small', enable_debug: 'yes', constructor: 'x', odd: 1 },
      env: { A: 'a', B: 1 },
      groups: [{ name: 'a', id: 1, odd: 1 }, { name: 'b' }, null],
      quotas: { ...view.quotas, odd: 1 },
      odd: 1,
    })
    expect(parseView(text)).toEqual({
      ...view,
      options: { size: 'small' },
      env: { A: 'a' },
      groups: [{ name: 'a', id: 1 }],
    })
  })
})
