/** Computes the offer of the form to one user: exactly what `create` accepts from them. Pure. */

import type { Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { qualifiedRepositoryOf } from '../config/images.ts'
import type { Config } from '../config/schema.ts'
import { displayNameOf } from '../images/catalogue/compose.ts'
import { permittedTags } from '../images/catalogue/restrictions.ts'
import type { Catalogue, CatalogueImage } from '../images/catalogue/types.ts'
import { chooseLab, type OfferedSize, sizesFor } from '../labs/choose.ts'
import { requireFit } from '../labs/fit.ts'
import type { LabOffer, Refusal } from './render.ts'

type Settings = Pick<Config, 'identity' | 'lab' | 'images'>
type Images = Pick<Catalogue, 'types' | 'prepull' | 'menu'>

/** The current knowledge about images. */
export interface KnownImages {
  /** Undefined if the registry was never read, or Redis does not answer. */
  readonly catalogue: Images | undefined
  /** References of the images that all nodes have. */
  readonly prepulled: ReadonlySet<string>
}

/** An offer, or the reason why this user cannot have a lab at all. */
export function offerTo(
  caller: Identity,
  settings: Settings,
  { catalogue, prepulled }: KnownImages,
): LabOffer | Refusal {
  const { lab, images } = settings
  const sizes = sizesFor(lab, caller)
  const refused = refusalOf(settings, caller, sizes)
  if (refused !== undefined) return { refused }
  const { types, prepull, menu } = catalogue ?? recommendedAlone(images)
  const permitted = permittedTags(images.restrictions, caller.groups)
  const allowed = ({ tag }: CatalogueImage) => permitted?.(tag) ?? true
  const { recommended } = types
  return {
    ...(recommended && allowed(recommended) && { recommended }),
    recommendedIsFast: recommended !== undefined && prepulled.has(recommended.reference),
    fast: prepull.filter(image => prepulled.has(image.reference) && allowed(image)),
    menu: menu.filter(allowed),
    incomplete: catalogue === undefined,
    sizes,
    defaultSize: lab.defaultSize,
  }
}

/** The message of `create`, which would refuse any size too. */
function refusalOf(settings: Settings, caller: Identity, sizes: readonly OfferedSize[]): string | undefined {
  const { lab } = settings
  try {
    chooseLab(lab, caller, { size: sizes[0]?.name ?? lab.defaultSize })
    requireFit(settings, caller)
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [{ msg, loc }] = error.detail as [(typeof error.detail)[0]]
    return loc === undefined ? msg : 'You may have none of the sizes: your quota or your groups do not allow them'
  }
}

/** A lab can be made of the recommended image before the catalogue is known. */
function recommendedAlone(images: Settings['images']): Images {
  const { recommendedTag: tag } = images
  const reference = `${qualifiedRepositoryOf(images)}:${tag}`
  const recommended: CatalogueImage = { reference, tag, aliases: [], name: displayNameOf(images, tag), digest: null }
  return { types: { recommended }, prepull: [], menu: [] }
}
