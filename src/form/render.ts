/** The lab form as HTML (SQR-066, "GET …/lab-form/<username>"). Pure. */
import { html, raw } from 'hono/html'
import type { LabOptions } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import { fromMenu } from '../images/catalogue/reference.ts'
import type { CatalogueImage } from '../images/catalogue/types.ts'
import type { OfferedSize } from '../labs/choose.ts'
import { script } from './script.ts'
import { rootClass, styleSheet } from './style.ts'
import { capitalized, resourcesInWords } from './words.ts'

/** The offer to one user, without restricted images. */
export interface LabOffer {
  /** Listed first, and the default; undefined if there is none, or it is restricted for this user. */
  readonly recommended?: CatalogueImage
  /** Images that start fast, in the order of the form. */
  readonly fast: readonly CatalogueImage[]
  /** Whether the recommended image starts fast too. */
  readonly recommendedIsFast: boolean
  readonly menu: readonly CatalogueImage[]
  /** Whether the list of images is unavailable for now. */
  readonly incomplete: boolean
  /** At least one. */
  readonly sizes: readonly OfferedSize[]
  /** Name of the default size. */
  readonly defaultSize: string
  /** Why the user's last lab was stopped. */
  readonly notice?: string | undefined
}

/** For a user who cannot have a lab: the reason. */
export interface Refusal {
  readonly refused: string
}

/**
 * Maximum number of images in the menu. Each takes about 100 bytes: 2,000 make a form of 200 kB. Longer lists help
 * nobody; `images.menu` shortens them by better rules.
 */
export const maxMenu = 5000

type Markup = ReturnType<typeof raw>

/** The framework's template escapes all inserted values, in text and in attributes. Nothing here is awaited. */
const markup = html as (strings: TemplateStringsArray, ...values: unknown[]) => Markup

/** Text of any direction, in a page of any direction. */
const words = (text: string) => markup`<bdi>${text}</bdi>`

/**
 * A fragment for the form of the Hub's page: no html, head, body or form element, nothing from other hosts. Its
 * parameters are options of "POST …/create". It works without its script, and without its style.
 */
export function renderForm(look: Config['form'], offer: LabOffer | Refusal): string {
  const content = 'refused' in offer ? refusal(offer) : fields(offer)
  const style = markup`<style>${raw(styleSheet(look))}</style>`
  return markup`<div class="${rootClass}">${style}${introduction(look)}${content}</div>\n`.toString()
}

function introduction({ heading, help, helpUrl }: Config['form']): Markup {
  const link = helpUrl !== undefined && markup`<p><a href="${helpUrl}">${words('More about images and sizes')}</a></p>`
  return markup`<h2>${words(heading)}</h2>${help !== '' && markup`<p>${words(help)}</p>`}${link}`
}

function refusal({ refused }: Refusal): Markup {
  return markup`<p>${words(`You cannot have a lab. ${refused}.`)}</p>
<p>${words('The operators of this service can change that.')}</p>`
}

function fields(offer: LabOffer): Markup {
  const { notice } = offer
  const told = notice !== undefined && markup`<p>${words(notice)}</p>`
  return markup`${told}${imageField(offer)}${sizeField(offer)}${optionField}<script>${raw(script)}</script>`
}

function imageField({ recommended, recommendedIsFast, fast, menu, incomplete }: LabOffer): Markup {
  const others = fast.filter(({ reference }) => reference !== recommended?.reference)
  const listed = recommended ? [recommended, ...others] : others
  const radios = listed.map((image, i) =>
    choice('image_list', image.reference, i === 0, imageWords(image, image === recommended, recommendedIsFast)),
  )
  const none = listed.length === 0 && menu.length === 0
  return markup`<fieldset><legend>${words('Image')}</legend>${incomplete && markup`<p>${words(incompleteWords)}</p>`}
${none && markup`<p>${words('There is no image that you can have.')}</p>`}${radios}
${menu.length > 0 && menuChoice(menu, listed.length === 0)}</fieldset>`
}

const incompleteWords = 'The list of images is not available at the moment. Load this page again to see all of them.'

function imageWords({ name, tag, aliases }: CatalogueImage, isRecommended: boolean, isFast: boolean): Markup {
  const tags = [tag, ...aliases].filter(each => each !== name).join(', ')
  const slow = isRecommended && !isFast
  return markup`${words(name)}${isRecommended && markup` <strong>${words('recommended')}</strong>`}${note(tags)}
${slow && note('Not on all nodes yet: starting it may take some minutes longer.')}`
}

function menuChoice(menu: readonly CatalogueImage[], isChosen: boolean): Markup {
  const cut = menu.length > maxMenu ? ` Only the first ${maxMenu} of ${menu.length} are listed.` : ''
  const about = `Starting one that is not above may take some minutes longer.${cut}`
  const options = menu
    .slice(0, maxMenu)
    .map(({ reference, name }) => markup`<option value="${reference}">${name}</option>\n`)
  return markup`${choice('image_list', fromMenu, isChosen, markup`${words('Another image, from the menu')}${note(about)}`)}
<label class="skylab-menu">${words('Menu')}<select name="image_dropdown">${options}</select></label>`
}

function sizeField({ sizes, defaultSize }: LabOffer): Markup {
  const chosen = sizes.some(({ name }) => name === defaultSize) ? defaultSize : sizes[0]?.name
  const radios = sizes.map(({ name, limits, requests }) => {
    const about = `Up to ${resourcesInWords(limits)} of memory, at least ${resourcesInWords(requests)}.`
    return choice('size', name, name === chosen, markup`${words(capitalized(name))}${note(about)}`)
  })
  return markup`<fieldset><legend>${words('Size')}</legend>${radios}</fieldset>`
}

const optionField = markup`<fieldset><legend>${words('Options')}</legend>
${flag('enable_debug', 'Log more', 'The lab logs more, which helps to find a fault (DEBUG).')}
${flag(
  'reset_user_env',
  'Begin with fresh settings',
  'Asks the image to put your own settings and packages aside, for a lab that does not start any more (RESET_USER_ENV).',
)}</fieldset>`

function choice(option: keyof LabOptions, value: string, isChosen: boolean, content: Markup): Markup {
  const checked = isChosen && raw(' checked')
  return markup`<label><input type="radio" name="${option}" value="${value}"${checked}><span>${content}</span></label>\n`
}

function flag(option: keyof LabOptions, name: string, about: string): Markup {
  return markup`<label><input type="checkbox" name="${option}" value="true"><span>${words(name)}${note(about)}</span></label>`
}

function note(text: string): Markup | false {
  return text !== '' && markup`<small>${words(text)}</small>`
}
