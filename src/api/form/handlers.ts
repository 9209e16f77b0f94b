/** The route of SQR-066, "GET …/lab-form/<username>". */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { type KnownImages, offerTo } from '../../form/offer.ts'
import { renderForm } from '../../form/render.ts'
import type { ImageService } from '../../images/catalogue/types.ts'
import type { Admission } from '../bounds/admit.ts'
import type { ApiEnv, ApiParts } from '../request/env.ts'
import { methodNotAllowed, toApiError } from '../request/errors.ts'
import { formHeaders, formRoute } from './routes.ts'

type FormParts = Pick<ApiParts, 'config' | 'images'>

export function addFormRoute(app: OpenAPIHono<ApiEnv>, { config, images }: FormParts, { asUser }: Admission): void {
  app.openapi({ ...formRoute(config), middleware: [asUser] as const }, async c => {
    const offer = offerTo(c.get('caller'), config, await knownImages(images))
    return c.html(renderForm(config.form, offer), 200, formHeaders)
  })
  app.all(`${config.api.prefix}/lab-form/:username`, methodNotAllowed(['GET', 'HEAD']))
}

/** Without a list the form still has the recommended image. */
async function knownImages(images: ImageService): Promise<KnownImages> {
  const [catalogue, status] = await Promise.all([unlessAway(images.catalogue()), unlessAway(images.prepulls())])
  const prepulled = status?.prepulled ?? []
  return { catalogue, prepulled: new Set(prepulled.map(({ image }) => image.reference)) }
}

async function unlessAway<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (toApiError(error)?.status === 503) return undefined
    throw error
  }
}
