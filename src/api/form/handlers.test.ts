import { describe, expect, it } from 'vitest'
import { api, apiParts, detailOf, jsonBody, scriptedImages } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { exampleCaller, exampleCatalogue, examplePrepulled } from '../../../test/kit/form/offer.ts'
import type { CreateRequest, Identity } from '../../base/domain.ts'
import { ApiError, RetryLater, unavailable } from '../../base/errors.ts'
import type { IdleNotices } from '../../form/notice.ts'
import { requestedImage } from '../../images/catalogue/reference.ts'
import type { CatalogueImage, ImageService } from '../../images/catalogue/types.ts'
import { chooseLab } from '../../labs/choose.ts'

const { config } = apiParts()
const prepulled = (image: CatalogueImage) => ({ image, nodes: ['n1'], missing: [] })
const images = scriptedImages({
  catalogue: async () => exampleCatalogue,
  prepulls: async () => ({
    prepulled: exampleCatalogue.prepull.filter(({ reference }) => examplePrepulled.has(reference)).map(prepulled),
    pending: [],
    nodes: [],
  }),
})

/** Calls of an API for which every caller is this one. */
function asked(caller: Partial<Identity> = {}, service: ImageService = images, block: object = {}) {
  const identity = { identify: async () => ({ ...exampleCaller, ...caller }) }
  const { config } = apiParts({}, {}, block)
  return api({}, { identity, images: service, config })
}
const form = async (...args: Parameters<typeof asked>) => (await asked(...args)('GET', 'lab-form/ada', 'ada')).text()

interface Control {
  readonly name: string
  readonly value: string
}

/** All that a form may post, one control at a time. */
function controls(text: string): Control[] {
  const inputs = [...text.matchAll(/<input type="(?:radio|checkbox)" name="([^"]*)" value="([^"]*)"/g)]
  const options = [...text.matchAll(/<option value="([^"]*)"/g)]
  return [
    ...inputs.map(([, name, value]) => ({ name: name!, value: value! })),
    ...options.map(([, value]) => ({ name: 'image_dropdown', value: value! })),
  ]
}

describe('GET lab-form/<username>', () => {
  it('returns a fragment of HTML that is not cached', async () => {
    const response = await asked()('GET', 'lab-form/ada', 'ada')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^text\/html; charset=utf-8$/i)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await response.text()).toMatch(/^<div class="skylab-form">.*<\/div>\s*$/s)
  })

  it('answers HEAD, and no other method', async () => {
    const head = await asked()('HEAD', 'lab-form/ada', 'ada')
    expect([head.status, await head.text()]).toEqual([200, ''])
    const posted = await asked()('POST', 'lab-form/ada', 'ada')
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('requires the scope, and the user’s own name', async () => {
    const call = api({}, { images })
    expect((await call('GET', 'lab-form/rra')).status).toBe(401)
    expect((await call('GET', 'lab-form/hub', 'hub')).status).toBe(403)
    const other = await call('GET', 'lab-form/rra', 'both')
    expect([other.status, (await detailOf(other)).type]).toEqual([403, 'other_user'])
  })

  it('has the configured appearance', async () => {
    const text = await form({}, images, { form: { heading: 'Choose well', accentColor: '#006e6e', dark: 'never' } })
    expect(text).toContain('Choose well')
    expect(text).toContain('--skylab-accent:#006e6e')
    expect(text).not.toContain('prefers-color-scheme')
  })

  it('answers 200 with the reason when a quota forbids labs', async () => {
    const response = await asked({ quota: { spawn: false } })('GET', 'lab-form/ada', 'ada')
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('Your quota does not allow labs')
  })

  it('says why the last lab of this user was stopped, and is the same when nobody knows', async () => {
    const askedOf: string[] = []
    const clock = new ManualClock()
    const offered = async (lastStop: IdleNotices['lastStop']) => {
      const notices = {
        lastStop: (user: string) => {
          askedOf.push(user)
          return lastStop(user)
        },
      }
      const identity = { identify: async () => exampleCaller }
      return (await api({}, { identity, images, notices, clock })('GET', 'lab-form/ada', 'ada')).text()
    }
    const words = 'stopped after 60 min without activity (rule gpu)'
    expect(await offered(async () => ({ ms: clock.wallMs(), words }))).toContain(`Your last lab was ${words}, on`)
    expect(askedOf).toEqual([exampleCaller.username])
    for (const nothing of [
      async () => undefined,
      async () => ({ ms: clock.wallMs() - 8 * 24 * 3_600_000, words }),
      () => Promise.reject(new RetryLater('Redis does not answer')),
    ]) {
      expect(await offered(nothing)).toBe(await form())
    }
  })

  it('omits restricted images and sizes', async () => {
    const restrictions = [{ tags: ['r29_*'], groups: ['board'] }]
    expect(await form({}, images, { images: { restrictions } })).not.toContain('r29_')
    expect(await form({ groups: [{ name: 'board' }] }, images, { images: { restrictions } })).toContain(':r29_1_1"')
  })
})

describe('GET lab-form while images cannot be listed', () => {
  it.each([
    ['no replica ever read them', unavailable('not read yet')],
    ['Redis does not answer', new RetryLater('Redis does not answer')],
  ])('offers the recommended image after %s', async (_, error) => {
    const away = scriptedImages({ catalogue: () => Promise.reject(error), prepulls: () => Promise.reject(error) })
    const response = await asked({}, away)('GET', 'lab-form/ada', 'ada')
    const text = await response.text()
    expect(response.status).toBe(200)
    expect(controls(text).filter(({ name }) => name === 'image_list')).toEqual([
      { name: 'image_list', value: 'registry.hub.docker.com/lsstsqre/sciplat-lab:recommended' },
    ])
    expect(text).toContain('is not available at the moment')
  })

  it('keeps the menu when only nodes are unknown', async () => {
    const text = await form({}, { ...images, prepulls: () => Promise.reject(unavailable('no nodes yet')) })
    expect(controls(text).filter(({ name }) => name === 'image_dropdown')).toHaveLength(exampleCatalogue.menu.length)
    expect(text).toContain('Not on all nodes yet')
  })

  it('answers 500 after a defect', async () => {
    const broken = scriptedImages({ ...images, catalogue: () => Promise.reject(new Error('a fault')) })
    expect((await asked({}, broken)('GET', 'lab-form/ada', 'ada')).status).toBe(500)
  })
})

describe('the posted form', () => {
  /** The options that `create` accepts. */
  async function created(options: object): Promise<CreateRequest['options']> {
    const seen: CreateRequest[] = []
    const identity = { identify: async () => exampleCaller }
    const call = api({ create: async (_, request) => void seen.push(request) }, { identity })
    const response = await call('POST', 'labs/ada/create', 'ada', jsonBody({ options }))
    if (response.status !== 303) throw new Error(JSON.stringify(await response.json()))
    return seen[0]!.options
  }

  it('is accepted by create, with every value in either shape', async () => {
    const all = controls(await form())
    expect(new Set(all.map(({ name }) => name))).toEqual(
      new Set(['image_list', 'image_dropdown', 'size', 'enable_debug', 'reset_user_env']),
    )
    const { reference } = exampleCatalogue.types.recommended!
    for (const { name, value } of all) {
      const posted = { image_list: reference, image_dropdown: reference, [name]: value }
      const lists = Object.fromEntries(Object.entries(posted).map(([key, each]) => [key, [each]]))
      const options = await created(posted)
      expect(await created({ ...lists, _xsrf: ['2|abc'] })).toEqual(options)
      expect(() => requestedImage(config.images, options)).not.toThrow()
      expect(() => chooseLab(config.lab, exampleCaller, options)).not.toThrow()
    }
  })

  it('selects the image of the radio button, or of the menu when that is chosen', async () => {
    const [one, other] = [exampleCatalogue.prepull[1]!, exampleCatalogue.menu.at(-1)!]
    const imageOf = async (image_list: string) =>
      requestedImage(config.images, await created({ image_list: [image_list], image_dropdown: [other.reference] }))
    expect(await imageOf(one.reference)).toMatchObject({ tag: one.tag })
    expect(await imageOf('use_image_from_dropdown')).toMatchObject({ tag: other.tag })
  })

  it('can select only what the user may have', async () => {
    const quota = { cpu: 1, spawn: true }
    const offered = controls(await form({ quota })).filter(({ name }) => name === 'size')
    expect(offered).toEqual([{ name: 'size', value: 'small' }])
    expect(() => chooseLab(config.lab, { ...exampleCaller, quota }, { size: 'medium' })).toThrow(ApiError)
  })
})
