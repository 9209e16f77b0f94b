import { describe, expect, it } from 'vitest'
import type { LabOptions } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import { requestedImage } from './reference.ts'

const images = {
  registry: 'registry.hub.docker.com',
  docker: { repository: 'lsstsqre/sciplat-lab' },
}
const digest = `sha256:${'0'.repeat(64)}`

function refusal(options: LabOptions, settings = images) {
  try {
    return requestedImage(settings, options)
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
    expect((error as ApiError).status).toBe(422)
    return (error as ApiError).detail[0]
  }
}

describe('requestedImage by options', () => {
  it.each<[LabOptions, object]>([
    [
      { image_tag: 'w_1', image_type: 'recommended' },
      { tag: 'w_1', option: 'image_tag' },
    ],
    [{ image_type: 'recommended' }, { type: 'recommended', option: 'image_type' }],
    [{ image_type: 'latest-weekly' }, { type: 'latest-weekly', option: 'image_type' }],
    [
      { image_type: 'recommended', image_list: 'x' },
      { type: 'recommended', option: 'image_type' },
    ],
    [
      { image_list: 'lsstsqre/sciplat-lab:a', image_dropdown: 'lsstsqre/sciplat-lab:b' },
      { tag: 'a', option: 'image_list' },
    ],
    [
      { image_list: 'use_image_from_dropdown', image_dropdown: 'lsstsqre/sciplat-lab:b' },
      { tag: 'b', option: 'image_dropdown' },
    ],
    [{ image_dropdown: 'lsstsqre/sciplat-lab:b' }, { tag: 'b', option: 'image_dropdown' }],
  ])('for %j is the image of the first option', (options, image) => {
    expect(requestedImage(images, options)).toEqual(image)
  })

  it('refuses options without an image', () => {
    for (const options of [{}, { size: 'small' }, { image_list: 'use_image_from_dropdown' }]) {
      expect(refusal(options)).toMatchObject({ loc: ['body', 'options'], msg: expect.stringContaining('is needed') })
    }
  })

  it('refuses unknown types', () => {
    expect(refusal({ image_type: 'newest' })).toEqual({
      msg: 'There is no such type of images, only recommended, latest-weekly, latest-daily, latest-release',
      type: 'invalid',
      loc: ['body', 'options', 'image_type'],
    })
  })
})

describe('requestedImage by reference', () => {
  it.each<[string, object]>([
    ['lsstsqre/sciplat-lab:w_2022_37', { tag: 'w_2022_37' }],
    ['registry.hub.docker.com/lsstsqre/sciplat-lab:w_2022_37', { tag: 'w_2022_37' }],
    ['docker.io/lsstsqre/sciplat-lab:w_2022_37', { tag: 'w_2022_37' }],
    [`lsstsqre/sciplat-lab:w_2022_37@${digest}`, { tag: 'w_2022_37', digest }],
    [`registry.hub.docker.com/lsstsqre/sciplat-lab@${digest}`, { digest }],
  ])('accepts %s', (text, image) => {
    expect(requestedImage(images, { image_list: text })).toEqual({ ...image, option: 'image_list' })
  })

  it('accepts a registry with a port', () => {
    const local = { ...images, registry: '127.0.0.1:5000', docker: { repository: 'lab' } }
    expect(requestedImage(local, { image_list: '127.0.0.1:5000/lab:1' })).toMatchObject({ tag: '1' })
    expect(requestedImage(local, { image_list: 'lab:1' })).toMatchObject({ tag: '1' })
    expect(refusal({ image_list: 'docker.io/lab:1' }, local)).toMatchObject({ msg: 'Only images of lab can be chosen' })
  })

  it.each([
    ['sciplat/sciplat-lab:w_1', 'Only images of lsstsqre/sciplat-lab can be chosen'],
    ['ghcr.io/lsstsqre/sciplat-lab:w_1', 'Only images of lsstsqre/sciplat-lab can be chosen'],
    ['evil/docker.io/lsstsqre/sciplat-lab:w_1', 'Only images of lsstsqre/sciplat-lab can be chosen'],
    ['lsstsqre/sciplat-lab-evil:w_1', 'Only images of lsstsqre/sciplat-lab can be chosen'],
    ['lsstsqre/sciplat-lab:w_1:w_2', 'Only images of lsstsqre/sciplat-lab can be chosen'],
    ['', 'Only images of lsstsqre/sciplat-lab can be chosen'],
    ['lsstsqre/sciplat-lab', 'The image has neither tag nor digest'],
    ['lsstsqre/sciplat-lab:', 'The tag is not a plain one'],
    ['lsstsqre/sciplat-lab:a b', 'The tag is not a plain one'],
    ['lsstsqre/sciplat-lab:a\n', 'The tag is not a plain one'],
    ['lsstsqre/sciplat-lab:w_1@sha256:0', 'The digest is not valid'],
    [`lsstsqre/sciplat-lab@${digest}@${digest}`, 'The digest is not valid'],
  ])('refuses %j', (text, msg) => {
    expect(refusal({ image_dropdown: text })).toEqual({
      msg,
      type: 'invalid',
      loc: ['body', 'options', 'image_dropdown'],
    })
  })

  it.each(['', '-a', 'a/b', 'a:b', 'a@b', '../x', 'ä', 'a'.repeat(129)])('refuses the tag %j', tag => {
    expect(refusal({ image_tag: tag })).toMatchObject({ loc: ['body', 'options', 'image_tag'] })
  })
})
