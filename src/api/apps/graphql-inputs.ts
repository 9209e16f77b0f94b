/** What somebody sends by GraphQL, held to the schemas of REST. */
import type { z } from '@hono/zod-openapi'
import type { AppWish } from '../../appcontrol/creation.ts'
import type { AppChange } from '../../appcontrol/service.ts'
import type { TemplateWish } from '../../appcontrol/templates.ts'
import { asObject, type JsonObject } from '../../base/json.ts'
import type { Limits } from '../../config/limits.ts'
import { onInvalid } from '../request/errors.ts'
import { appPath, changeBody, createBody, templatePath } from './schemas.ts'
import { templateBody } from './template-schemas.ts'

/** Every method throws {ApiError} 422 with the place of each fault. */
export class Inputs {
  readonly #create: ReturnType<typeof createBody>
  readonly #change: ReturnType<typeof changeBody>

  constructor(limits: Limits) {
    this.#create = createBody(limits)
    this.#change = changeBody(limits)
  }

  newApp = (data: unknown): AppWish => checked(this.#create, plain(data))
  change = (data: unknown): AppChange => checked(this.#change, plain(data))
  appId = (where: unknown): string => checked(appPath, plain(where), 'path').id
  templateId = (where: unknown): string => checked(templatePath, plain(where), 'path').id
  template = (data: JsonObject): TemplateWish => checked(templateBody, data)
}

function checked<T extends z.ZodType>(schema: T, value: unknown, target = 'json'): z.output<T> {
  const result = schema.safeParse(value)
  if (!result.success) onInvalid({ success: false, target, error: result.error })
  return result.data as z.output<T>
}

/** As JSON that a body could have; what is `null` is absent. */
export function plain(value: unknown): JsonObject {
  const object = asObject(JSON.parse(JSON.stringify(value ?? {})))
  return Object.fromEntries(Object.entries(object).filter(([, each]) => each !== null))
}
