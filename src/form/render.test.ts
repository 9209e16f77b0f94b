import { describe, expect, it } from 'vitest'
import {
  exampleCaller,
  exampleCatalogue,
  exampleConfig,
  exampleImage,
  examplePrepulled,
  weeklies,
} from '../../test/kit/form/offer.ts'
import type { Config } from '../config/schema.ts'
import { offerTo } from './offer.ts'
import { type LabOffer, maxMenu, renderForm } from './render.ts'

const known = { catalogue: exampleCatalogue, prepulled: examplePrepulled }
const example = offerTo(exampleCaller, exampleConfig(), known) as LabOffer

function form(offer: Partial<LabOffer> = {}, look: Partial<Config['form']> = {}): string {
  return renderForm({ ...exampleConfig().form, ...look }, { ...example, ...offer })
}

/** As `name=value`, with `*` before selected ones, in their order. */
function controls(text: string): string[] {
  const found = text.matchAll(/<input type="(?:radio|checkbox)" name="([^"]*)" value="([^"]*)"( checked)?>/g)
  return [...found].map(([, name, value, checked]) => `${checked ? '*' : ''}${name}=${value!.replace(/^.*:/, '')}`)
}
const optionsOf = (text: string) => [...text.matchAll(/<option value="([^"]*)">([^<]*)</g)].map(([, value]) => value)

/** Text only, without style and script. */
const textOf = (text: string) =>
  text
    .replace(/<(style|script)>.*?<\/\1>/gs, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

const hostile = `"><script>alert('1')</script>&amp;`
const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'

describe('renderForm', () => {
  it('has the recommended image first and selected, then the others, the menu, sizes and options', () => {
    expect(controls(form())).toEqual([
      '*image_list=recommended',
      'image_list=r29_1_1',
      'image_list=w_2026_27',
      'image_list=d_2026_07_13',
      'image_list=use_image_from_dropdown',
      '*size=small',
      'size=medium',
      'size=large',
      'enable_debug=true',
      'reset_user_env=true',
    ])
    expect(optionsOf(form())).toEqual(exampleCatalogue.menu.map(({ reference }) => reference))
  })

  it('names images by their whole reference', () => {
    expect(form()).toContain('value="registry.hub.docker.com/lsstsqre/sciplat-lab:w_2026_27"')
  })

  it('is a fragment, without elements that a page has once, and loads nothing from other hosts', () => {
    const text = form({}, { help: 'Some help', helpUrl: 'https://example.org/help' })
    expect(text).not.toMatch(/<(!doctype|html|head|body|form|main|link|img|iframe)\b/i)
    expect(text).not.toMatch(/\s(id|style|src|on\w+)=/)
    expect([...text.matchAll(/https?:\/\/[^"]*/g)].map(([url]) => url)).toEqual(['https://example.org/help'])
    expect(text.match(/<style>/g)).toHaveLength(1)
    expect(text.match(/<div class="skylab-form">/g)).toHaveLength(1)
  })

  it('says first why the last lab was stopped', () => {
    const notice = 'Your last lab was stopped after 60 min without activity (rule gpu).'
    expect(textOf(form({ notice }))).toMatch(/rule gpu\)\. Image/)
    expect(form({ notice }).replace(`<p><bdi>${notice}</bdi></p>`, '')).toBe(form())
    expect(form({ notice: hostile })).toContain(`<p><bdi>${escaped}</bdi></p>`)
  })

  it('describes sizes in words', () => {
    expect(textOf(form())).toContain('Medium Up to 2 CPUs and 8 GiB of memory, at least 0.5 CPUs and 2 GiB.')
  })
})

describe('renderForm: images', () => {
  it('are marked as recommended, with their tags', () => {
    expect(textOf(form())).toContain('Recommended (Weekly 2026_28) recommended recommended, w_2026_28, latest_weekly')
    expect(form().match(/<strong>/g)).toHaveLength(1)
  })

  it('are listed with a note when they are recommended but not on all nodes', () => {
    expect(textOf(form())).not.toContain('Not on all nodes yet')
    const slow = form({ recommendedIsFast: false, fast: [] })
    expect(controls(slow).slice(0, 2)).toEqual(['*image_list=recommended', 'image_list=use_image_from_dropdown'])
    expect(textOf(slow)).toContain('Not on all nodes yet')
  })

  it('are chosen from the menu when there are no others', () => {
    const { recommended: _, ...rest } = example
    const text = renderForm(exampleConfig().form, { ...rest, fast: [] })
    expect(controls(text)[0]).toBe('*image_list=use_image_from_dropdown')
    expect(text).not.toContain('<strong>')
  })

  it('have the first fast one selected when none is recommended', () => {
    const { recommended: _, ...rest } = example
    const list = controls(renderForm(exampleConfig().form, { ...rest, fast: [exampleImage('w_2026_27')] }))
    expect(list.slice(0, 2)).toEqual(['*image_list=w_2026_27', 'image_list=use_image_from_dropdown'])
  })

  it('have no menu when it would be empty', () => {
    const text = form({ menu: [] })
    expect(controls(text)).not.toContain('image_list=use_image_from_dropdown')
    expect(text).not.toContain('<select')
  })

  it('are replaced by a message when there are none', () => {
    const { recommended: _, ...rest } = example
    const text = renderForm(exampleConfig().form, { ...rest, fast: [], menu: [] })
    expect(textOf(text)).toContain('There is no image that you can have.')
    expect(textOf(form())).not.toContain('There is no image')
  })

  it('have a note when the list is incomplete', () => {
    expect(textOf(form({ incomplete: true }))).toContain('is not available at the moment')
    expect(textOf(form())).not.toContain('is not available at the moment')
  })
})

describe('renderForm: sizes', () => {
  it('have the first selected when the default is not among them', () => {
    const text = form({ defaultSize: 'tiny' })
    expect(controls(text).filter(each => each.includes('size='))).toEqual(['*size=small', 'size=medium', 'size=large'])
  })
})

describe('renderForm: configuration', () => {
  it('adds heading, help and a link', () => {
    const text = form({}, { heading: 'Choose', help: 'Small will do.', helpUrl: 'https://example.org/?a=1&b="2"' })
    expect(text).toContain('<h2><bdi>Choose</bdi></h2><p><bdi>Small will do.</bdi></p>')
    expect(text).toContain('<a href="https://example.org/?a=1&amp;b=&quot;2&quot;">')
  })

  it('may lack help and link', () => {
    expect(form()).not.toMatch(/<a |<p>/)
  })
})

describe('renderForm: text from elsewhere', () => {
  it('is escaped everywhere', () => {
    const image = exampleImage(hostile, { name: hostile, aliases: [`${hostile}x`], reference: `x:${hostile}` })
    const size = { ...example.sizes[0]!, name: hostile }
    const images = { recommended: image, fast: [image, { ...image, reference: 'y' }], menu: [image] }
    const text = form({ ...images, sizes: [size], defaultSize: hostile }, { heading: hostile, help: hostile })
    expect(text).not.toContain(hostile)
    expect(text).not.toContain("alert('1')")
    expect(text.match(/<script>/g)).toHaveLength(1)
    expect(text.split(escaped).length - 1).toBeGreaterThan(9)
  })

  it('is escaped in a refusal too', () => {
    const text = renderForm(exampleConfig().form, { refused: hostile })
    expect(text).toContain(escaped)
    expect(text).not.toContain('<script>')
  })
})

describe('renderForm of a refusal', () => {
  it('shows the reason, and offers nothing', () => {
    const text = renderForm(exampleConfig().form, { refused: 'Your quota does not allow labs' })
    expect(textOf(text)).toContain('You cannot have a lab. Your quota does not allow labs.')
    expect(text).not.toMatch(/<(input|select|fieldset|script)/)
    expect(text).toContain('<h2>')
  })
})

describe('renderForm with a long menu', () => {
  const menu = (count: number) => weeklies(count).map(tag => exampleImage(tag))

  it('of 2,000 images is no larger than 256 KiB', () => {
    const text = form({ menu: menu(2000) })
    expect(optionsOf(text)).toHaveLength(2000)
    expect(Buffer.byteLength(text)).toBeLessThan(256 * 1024)
    expect(textOf(text)).not.toContain('listed')
  })

  it('shows a limited number of images, with a note', () => {
    const text = form({ menu: menu(maxMenu + 1) })
    expect(optionsOf(text)).toHaveLength(maxMenu)
    expect(textOf(text)).toContain(`Only the first ${maxMenu} of ${maxMenu + 1} are listed.`)
  })
})
