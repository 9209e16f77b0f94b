/** The lab form in a browser: every user can use it, with and without scripts, and `create` accepts its data. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchBrowser } from '../../dev/setup/browser.ts'
import type { CreateRequest, Identity, LabOptions } from '../../src/base/domain.ts'
import { configSchema } from '../../src/config/schema.ts'
import { requestedImage } from '../../src/images/catalogue/reference.ts'
import type { Catalogue } from '../../src/images/catalogue/types.ts'
import { api, jsonBody, scriptedImages } from '../kit/api/scripted-api.ts'
import { ManualClock } from '../kit/clock.ts'
import { exampleCaller, exampleCatalogue, exampleImage, examplePrepulled, weeklies } from '../kit/form/offer.ts'
import { axeOn } from '../kit/hub/browser.ts'
import { type Hub, type HubPage, startHub } from '../kit/hub/hub.ts'

let browser: Browser
let hub: Hub
/** The requests that `create` accepted, in order. */
const accepted: LabOptions[] = []

beforeAll(async () => {
  browser = await launchBrowser()
  hub = await startHub(async options => {
    const create = async (_: Identity, request: CreateRequest) => void accepted.push(request.options)
    const identity = { identify: async () => exampleCaller }
    const response = await api({ create }, { identity })('POST', 'labs/ada/create', 'ada', jsonBody({ options }))
    return response.status === 303 ? 'Accepted' : `Refused: ${await response.text()}`
  })
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

interface FormParts {
  readonly caller?: Partial<Identity>
  readonly config?: object
  readonly catalogue?: Partial<Catalogue>
  /** Why the last lab was stopped. */
  readonly stopped?: string
}

/** The form in a replica's answer. */
async function formOf({ caller, config, catalogue, stopped }: FormParts = {}): Promise<string> {
  const identity = { identify: async () => ({ ...exampleCaller, ...caller }) }
  const prepulled = exampleCatalogue.prepull
    .filter(({ reference }) => examplePrepulled.has(reference))
    .map(image => ({ image, nodes: ['n1'], missing: [] }))
  const images = scriptedImages({
    catalogue: async () => ({ ...exampleCatalogue, ...catalogue }),
    prepulls: async () => ({ prepulled, pending: [], nodes: [] }),
  })
  const clock = new ManualClock()
  const lastStop = async () => (stopped === undefined ? undefined : { ms: clock.wallMs(), words: stopped })
  const parts = { identity, images, clock, config: configSchema.parse(config ?? {}), notices: { lastStop } }
  const call = api({}, parts)
  return (await call('GET', 'lab-form/ada', 'ada')).text()
}

/** Opens the form in a new page, and closes the page afterwards. */
async function within<T>(
  { context = {}, page: around = {}, ...parts }: FormParts & { context?: BrowserContextOptions; page?: HubPage },
  work: (page: Page) => Promise<T>,
): Promise<T> {
  const opened = await browser.newContext(context)
  const faults: string[] = []
  try {
    const page = await opened.newPage()
    page.on('pageerror', error => faults.push(error.message))
    page.on('dialog', dialog => {
      faults.push(`a dialog: ${dialog.message()}`)
      return dialog.dismiss()
    })
    await page.goto(hub.show(await formOf(parts), around))
    const result = await work(page)
    expect(faults).toEqual([])
    return result
  } finally {
    await opened.close()
  }
}

const choose = (page: Page, name: RegExp) => page.getByRole('radio', { name }).check()
const menuOf = (page: Page) => page.getByRole('combobox', { name: 'Menu' })
const lastOfMenu = exampleCatalogue.menu.at(-1)!

/** Presses the Hub's button; returns the options that `create` accepted, and their image. */
async function start(page: Page) {
  await page.getByRole('button', { name: 'Start' }).click()
  expect(await page.getByRole('heading', { name: /Accepted|Refused/ }).textContent()).toBe('Accepted')
  const options = accepted.at(-1)!
  return { options, image: requestedImage(configSchema.parse({}).images, options) }
}

describe.each(['light', 'dark'] as const)('the form in %s mode', colorScheme => {
  const cases: [string, FormParts][] = [
    ['as it is', {}],
    ['with all that can be configured', { config: { form: { help: 'Help.', helpUrl: 'https://example.org/' } } }],
    ['with a bright accent', { config: { form: { accentColor: '#ffff00', helpUrl: 'https://example.org/' } } }],
    ['with a dark accent', { config: { form: { accentColor: '#000022', helpUrl: 'https://example.org/' } } }],
    ['after a stop', { stopped: 'stopped after 60 min without activity (rule gpu)' }],
    ['never dark', { config: { form: { dark: 'never' } } }],
    ['refused', { caller: { quota: { spawn: false } } }],
  ]

  test.each(cases)('axe finds no fault in the form %s', async (_, parts) => {
    await within({ ...parts, context: { colorScheme } }, async page => {
      const { violations, looked } = await axeOn(page)
      expect(violations).toEqual([])
      expect(looked).toContain('color-contrast')
      if (!parts.caller) expect(looked).toEqual(expect.arrayContaining(['label', 'select-name']))
    })
  })
})

test('axe finds a fault in a broken form', async () => {
  await within({}, async page => {
    await page.evaluate(`document.querySelector('.skylab-menu').replaceWith(document.querySelector('select'))`)
    await page.addStyleTag({ content: '.skylab-form small { color: #ccc !important }' })
    const { violations } = await axeOn(page)
    expect(violations.map(each => each.replace(/:.*/s, '')).sort()).toEqual(['color-contrast', 'select-name'])
  })
})

test('the form is dark when the reader’s system is, and only when the page permits it', async () => {
  const background = 'getComputedStyle(document.querySelector(".skylab-form")).backgroundColor'
  const seen = async (dark: string, colorScheme: 'light' | 'dark') =>
    within({ config: { form: { dark } }, context: { colorScheme } }, page => page.evaluate(background))
  const light = 'rgb(255, 255, 255)'
  expect([await seen('auto', 'light'), await seen('never', 'dark')]).toEqual([light, light])
  expect(await seen('auto', 'dark')).not.toBe(light)
})

/** Pages that let the form's script run, and pages that do not. */
const ways: [string, { context?: BrowserContextOptions; page?: HubPage }, boolean][] = [
  ['with its script', {}, true],
  ['without scripts', { context: { javaScriptEnabled: false } }, false],
  ['under a policy that allows neither script nor style in a page', { page: { policy: "default-src 'self'" } }, false],
]

describe.each(ways)('the form %s', (_, way, hasScript) => {
  test('offers a choice that can be started at once', async () => {
    const { options, image } = await within(way, start)
    expect(image).toMatchObject({ tag: 'recommended' })
    expect(options.size).toBe('small')
    for (const flag of ['enable_debug', 'reset_user_env']) expect(options).not.toHaveProperty(flag)
  })

  test('posts a radio button, a size and both options', async () => {
    const chosen = await within(way, async page => {
      await choose(page, /Weekly 2026_27/)
      await choose(page, /^Large/)
      for (const box of await page.getByRole('checkbox').all()) await box.check()
      return start(page)
    })
    expect(chosen.image).toMatchObject({ tag: 'w_2026_27' })
    expect(chosen.options).toMatchObject({ size: 'large', enable_debug: true, reset_user_env: true })
  })

  test('posts an image of the menu', async () => {
    const { image } = await within(way, async page => {
      if (!hasScript) await choose(page, /from the menu/)
      await menuOf(page).selectOption(lastOfMenu.reference)
      return start(page)
    })
    expect(image).toMatchObject({ tag: lastOfMenu.tag })
  })

  test('prefers a radio button other than "from the menu" to the menu', async () => {
    const { image } = await within(way, async page => {
      await menuOf(page).selectOption(lastOfMenu.reference)
      await choose(page, /Weekly 2026_27/)
      return start(page)
    })
    expect(image).toMatchObject({ tag: 'w_2026_27' })
  })

  test('posts the first image of the menu when only "from the menu" is chosen', async () => {
    const { image } = await within(way, async page => {
      await choose(page, /from the menu/)
      return start(page)
    })
    expect(image).toMatchObject({ tag: exampleCatalogue.menu[0]!.tag })
  })

  test('shows a refusal readably', async () => {
    await within({ ...way, caller: { quota: { spawn: false } } }, async page => {
      expect(await page.getByText('Your quota does not allow labs.').isVisible()).toBe(true)
    })
  })
})

describe('the form’s script', () => {
  const fromMenu = (page: Page, index = 0) => page.getByRole('radio', { name: /from the menu/ }).nth(index)

  test('chooses the menu when an image of it is selected, even the first one', async () => {
    await within({}, async page => {
      expect(await fromMenu(page).isChecked()).toBe(false)
      expect(await menuOf(page).inputValue()).toBe('')
      await menuOf(page).press('ArrowDown')
      expect(await menuOf(page).inputValue()).toBe(exampleCatalogue.menu[0]!.reference)
      expect(await fromMenu(page).isChecked()).toBe(true)
    })
  })

  test('defines no global', async () => {
    const globals = 'Object.getOwnPropertyNames(globalThis).length'
    const bare = await within({ caller: { quota: { spawn: false } } }, page => page.evaluate(globals))
    expect(await within({}, page => page.evaluate(`typeof menu + typeof form + ${globals}`))).toBe(
      `undefinedundefined${bare}`,
    )
  })

  test('serves two forms in one page separately', async () => {
    await within({ page: { times: 2 } }, async page => {
      await menuOf(page).nth(1).selectOption(lastOfMenu.reference)
      expect([await fromMenu(page, 0).isChecked(), await fromMenu(page, 1).isChecked()]).toEqual([false, true])
      await menuOf(page).nth(0).selectOption(lastOfMenu.reference)
      expect(await fromMenu(page, 0).isChecked()).toBe(true)
    })
  })
})

test('the form can be used with the keyboard only, and shows the focus', async () => {
  const chosen = await within({}, async page => {
    const press = async (...keys: string[]) => {
      for (const key of keys) {
        await page.keyboard.press(key)
        const style = 'getComputedStyle(document.activeElement)'
        expect(await page.evaluate(`${style}.outlineStyle + ${style}.outlineWidth`)).toBe('solid3px')
      }
    }
    await press('Tab', 'ArrowDown', 'ArrowDown')
    await press('Tab', 'ArrowDown', 'ArrowDown')
    await press('Tab', 'ArrowDown')
    await press('Tab', 'Space', 'Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Accepted' }).waitFor()
    return accepted.at(-1)
  })
  expect(chosen).toEqual({
    image_list: 'use_image_from_dropdown',
    image_dropdown: exampleCatalogue.menu[1]!.reference,
    size: 'medium',
    enable_debug: true,
  })
})

describe('the form fits', () => {
  const long = 'exp_w_2026_25_nosudo_'.padEnd(128, 'x')
  const catalogue = { menu: [exampleImage(long)], types: { recommended: exampleImage(long) } }
  const views: [string, { width: number; fontSize?: string; dir?: 'rtl' }][] = [
    ['into 320 pixels', { width: 320 }],
    ['where all is twice as large', { width: 640, fontSize: '200%' }],
    ['into 320 pixels, from right to left', { width: 320, dir: 'rtl' }],
  ]

  test.each(views)('%s', async (_, { width, fontSize = '100%', dir = 'ltr' }) => {
    const view = { context: { viewport: { width, height: 800 } }, page: { dir } as HubPage }
    await within({ ...view, catalogue }, async page => {
      await page.addStyleTag({ content: `html { font-size: ${fontSize} }` })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      const [radio, words] = await Promise.all([
        page.getByRole('radio').first().boundingBox(),
        page.locator('.skylab-form label > span').first().boundingBox(),
      ])
      expect(radio!.x < words!.x).toBe(dir === 'ltr')
    })
  })
})

test('a menu shows 2,000 images, and the last one can be chosen', async () => {
  const menu = weeklies(2000).map(tag => exampleImage(tag))
  const { image } = await within({ catalogue: { menu } }, async page => {
    expect(await menuOf(page).locator('option').count()).toBe(2000)
    await menuOf(page).selectOption({ index: 1999 })
    return start(page)
  })
  expect(image).toMatchObject({ tag: menu.at(-1)!.tag })
})

test('the form shows names with markup as text', async () => {
  const name = '</option></select><script>alert(1)</script><img src=x onerror=alert(2)>'
  const image = exampleImage('w_2026_01', { name, aliases: [name] })
  await within({ catalogue: { types: { recommended: image }, menu: [image] } }, async page => {
    expect(await page.locator('.skylab-form script').count()).toBe(1)
    expect(await page.locator('.skylab-form img').count()).toBe(0)
    expect(await menuOf(page).locator('option').textContent()).toBe(name)
    expect((await start(page)).image).toMatchObject({ tag: 'w_2026_01' })
  })
})
