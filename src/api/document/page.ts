/** The OpenAPI document as a page for people, `<prefix>/docs`: Swagger UI, from the packages of this checkout. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import type { DocumentRate } from '../bounds/rates.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { methodNotAllowed, notFound } from '../request/errors.ts'
import { fixedHeaders } from './headers.ts'
import { forAll, refusals } from './problems.ts'
import { answered } from './responses.ts'

const own = (name: string) => fileURLToPath(new URL(`./page/${name}`, import.meta.url))
const swagger = (name: string) => createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)

/** The files of the page; no others are served. */
const files: Readonly<Record<string, { readonly at: () => string; readonly type: 'text/css' | 'text/javascript' }>> = {
  'swagger-ui.css': { at: () => swagger('swagger-ui.css'), type: 'text/css' },
  'swagger-ui-bundle.js': { at: () => swagger('swagger-ui-bundle.js'), type: 'text/javascript' },
  'page.js': { at: () => own('page.js'), type: 'text/javascript' },
}

/** No other origin, no requests elsewhere, nothing inline, and no frames around it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pageHeaders = { 'Content-Security-Policy': policy, 'X-Content-Type-Options': 'nosniff' }
const fileHeaders = { 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' }

/** Adds the page and its files. They need no token, since nothing in them is secret, so all clients share one rate. */
export function addDocsPage(
  app: OpenAPIHono<ApiEnv>,
  { config }: Pick<CommonParts, 'config'>,
  byRate: DocumentRate,
): void {
  const path = `${config.api.prefix}/docs`
  const read = reader()
  app.openapi({ ...pageRoute(path), middleware: [byRate] as const }, async c => {
    const headers = { ...pageHeaders, 'Content-Type': 'text/html; charset=UTF-8' }
    return c.body(await read(own('page.html')), 200, headers) as never
  })
  app.openapi({ ...fileRoute(path), middleware: [byRate] as const }, async c => {
    const { file } = c.req.valid('param')
    if (!Object.hasOwn(files, file)) return notFound()
    const { at, type } = files[file]!
    return c.body(await read(at()), 200, { ...fileHeaders, 'Content-Type': type })
  })
  app.all(path, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${path}/:file`, methodNotAllowed(['GET', 'HEAD']))
}

/** Reads each file once, at its first request; as bytes, which need not be encoded for each answer. */
function reader(): (path: string) => Promise<Uint8Array<ArrayBuffer>> {
  const files = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()
  return path => {
    const known = files.get(path) ?? readFile(path)
    files.set(path, known)
    return known
  }
}

const tags = ['document']

function pageRoute(path: string) {
  return createRoute({
    method: 'get',
    path,
    operationId: 'getPage',
    tags,
    summary: 'The document as a page',
    description: 'For browsers. It needs no token, and loads nothing from other hosts.',
    security: [],
    responses: {
      200: {
        description: 'a page that loads nothing from other hosts',
        headers: answered(fixedHeaders(pageHeaders)),
        content: { 'text/html': { schema: z.string(), example: '<!doctype html>…' } },
      },
      ...refusals(forAll),
    },
  })
}

function fileRoute(path: string) {
  const example = '/* … */'
  return createRoute({
    method: 'get',
    path: `${path}/{file}`,
    operationId: 'getPageFile',
    tags,
    summary: 'A file of the page',
    description: 'The scripts and styles that the page loads.',
    security: [],
    request: {
      params: z.object({
        file: z.string().openapi({ description: 'name of the file', enum: Object.keys(files), example: 'page.js' }),
      }),
    },
    responses: {
      200: {
        description: 'the file',
        headers: answered(fixedHeaders(fileHeaders)),
        content: {
          'text/css': { schema: z.string(), example },
          'text/javascript': { schema: z.string(), example },
        },
      },
      ...refusals([...forAll, 'noSuchRoute']),
    },
  })
}
