/** The route of SQR-066, "GET …/lab-form/<username>". */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { noticeOf } from '../../form/notice.ts'
import { type KnownImages, offerTo } from '../../form/offer.ts'
import { renderForm } from '../../form/render.ts'
import type { ImageService } from '../../images/catalogue/types.ts'
import type { Admission } from '../bounds/admit.ts'
import type { ApiEnv, ApiParts } from '../request/env.ts'
import { methodNotAllowed, toApiError } from '../request/errors.ts'
import { formHeaders, formRoute } from './routes.ts'

type FormParts = Pick<ApiParts, 'config' | 'images' | 'notices' | 'clock'>

export function addFormRoute(app: OpenAPIHono<ApiEnv>, parts: FormParts, { asUser }: Admission): void {
  const { config, images } = parts
  app.openapi({ ...formRoute(config), middleware: [asUser] as const }, async c => {
    const caller = c.get('caller')
    const [known, notice] = await Promise.all([knownImages(images), noticeFor(parts, caller.username)])
    const offer = offerTo(caller, config, known)
    return c.html(renderForm(config.form, { ...offer, ...(notice !== undefined && { notice }) }), 200, formHeaders)
  })
  app.all(`${config.api.prefix}/lab-form/:username`, methodNotAllowed(['GET', 'HEAD']))
}

/** Without a list the form still has the recommended image. */
async function knownImages(images: ImageService): Promise<KnownImages> {
  const [catalogue, status] = await Promise.all([unlessAway(images.catalogue()), unlessAway(images.prepulls())])
  const prepulled = status?.prepulled ?? []
  return { catalogue, prepulled: new Set(prepulled.map(({ image }) => image.reference)) }
}

/** The form is the same without it. */
async function noticeFor({ notices, clock }: FormParts, user: string): Promise<string | undefined> {
  return notices && noticeOf(await unlessAway(notices.lastStop(user)), clock.wallMs())
}

async function unlessAway<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (toApiError(error)?.status === 503) return undefined
    throw error
  }
}
