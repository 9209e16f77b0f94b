/** Reads options into the requested image: a type, or a tag or a digest of the configured repository. Pure. */

import type { LabOptions } from '../../base/domain.ts'
import { invalid } from '../../base/errors.ts'
import { repositoryOf } from '../../config/images.ts'
import type { Config } from '../../config/schema.ts'
import { digestForm, registryNames, tagForm } from '../registry/names.ts'
import { type ImageType, imageTypes } from './types.ts'

export type ImageSettings = Pick<Config['images'], 'registry' | 'docker' | 'gar'>

/** An image of the configured repository; it has a tag or a digest, or both. */
export interface ImageName {
  readonly tag?: string
  readonly digest?: string
  /** The option that named it, for errors about it. */
  readonly option: keyof LabOptions
}

/** A requested image: by its name, or the catalogue's image of a type. */
export type ImageRequest = ImageName | { readonly type: ImageType; readonly option: 'image_type' }

/** The value of a form's radio buttons that selects the menu. */
export const fromMenu = 'use_image_from_dropdown'

const referenceForm = /^(?<name>[^@]*?)(?::(?<tag>[^:/@]*))?(?:@(?<digest>.*))?$/s

/**
 * The image that options ask for: `image_tag` before `image_type` before what a form gives (SQR-066, "Labs for bot
 * users").
 * @throws {ApiError} 422 when there is none, or one that is not allowed for labs
 */
export function requestedImage(images: ImageSettings, options: LabOptions): ImageRequest {
  if (options.image_tag !== undefined) return { tag: checkTag(options.image_tag, 'image_tag'), option: 'image_tag' }
  if (options.image_type !== undefined) return typeOf(options.image_type)
  const { image_list: list, image_dropdown: menu } = options
  if (list !== undefined && list !== fromMenu) return parseImage(images, list, 'image_list')
  if (menu !== undefined) return parseImage(images, menu, 'image_dropdown')
  throw invalid('One of image_type, image_tag, image_list and image_dropdown is needed', 'body', 'options')
}

function typeOf(text: string): ImageRequest {
  const type = imageTypes.find(known => known === text)
  if (type === undefined) throw refused('image_type', `There is no such type of images, only ${imageTypes.join(', ')}`)
  return { type, option: 'image_type' }
}

/**
 * An image by its reference, with or without registry, tag and digest.
 * @throws {ApiError} 422 when it is not a reference, or not of the configured repository
 */
function parseImage(images: ImageSettings, text: string, option: keyof LabOptions): ImageName {
  const { name = '', tag, digest } = referenceForm.exec(text)?.groups ?? {}
  if (!isOurs(images, name)) throw refused(option, `Only images of ${repositoryOf(images)} can be chosen`)
  if (tag === undefined && digest === undefined) throw refused(option, 'The image has neither tag nor digest')
  if (digest !== undefined && !digestForm.test(digest)) throw refused(option, 'The digest is not valid')
  return {
    ...(tag !== undefined && { tag: checkTag(tag, option) }),
    ...(digest !== undefined && { digest }),
    option,
  }
}

function isOurs(images: ImageSettings, name: string): boolean {
  const repository = repositoryOf(images)
  return name === repository || registryNames(images.registry).some(host => name === `${host}/${repository}`)
}

function checkTag(tag: string, option: keyof LabOptions): string {
  if (!tagForm.test(tag)) throw refused(option, 'The tag is not a plain one')
  return tag
}

/** 422 that names the option. */
export function refused(option: keyof LabOptions, words: string) {
  return invalid(words, 'body', 'options', option)
}
