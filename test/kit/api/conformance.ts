/** For tests: checks answers against the OpenAPI document. Everything undocumented is a fault. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

interface DocumentedHeader {
  readonly required?: boolean
}

interface DocumentedResponse {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, DocumentedHeader>>
  readonly content?: Readonly<Record<string, { readonly examples?: Readonly<Record<string, { value: unknown }>> }>>
}

interface Operation {
  readonly responses: Readonly<Record<string, DocumentedResponse>>
}

/** The part of an OpenAPI document that the checks use. */
interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
  }
  readonly 'x-without-operation': Readonly<Record<string, DocumentedResponse>>
}

/** One request and its answer. */
export interface Exchange {
  readonly method: string
  /** The path as sent, with the prefix. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  /** The body as text; undefined for a body that does not end, such as an event stream. */
  readonly text: string | undefined
}

/** Headers that HTTP itself adds. `Content-Type` is documented by the kinds of content. */
const transport = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding']

/** A response in the document, with its pointer. */
interface Place {
  readonly pointer: string
  readonly response: DocumentedResponse
}

export class Conformance {
  readonly #document: ApiDocument
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  /** By pointer and by contents, since hundreds of places use the same few schemas. */
  readonly #validators = new Map<string, ValidateFunction>()
  readonly #templates: (readonly [template: string, form: RegExp])[]

  /** @param document as the API serves it */
  constructor(document: object) {
    this.#document = document as ApiDocument
    this.#templates = Object.keys(this.#document.paths).map(template => [template, formOf(template)])
  }

  /** @throws if the answer deviates from the document */
  check(exchange: Exchange): void {
    const place = this.#placeOf(exchange)
    const problems = [...this.#headerProblems(exchange, place), ...this.#bodyProblems(exchange, place)]
    if (problems.length > 0) throw new Error(`${summaryOf(exchange)}: ${problems.join('; ')}`)
  }

  /** Problems of a value against the schema of the document at `pointer`, such as `/components/schemas/ErrorBody`. */
  problemsOf(pointer: string, value: unknown): string[] {
    const validate = this.#validator(pointer)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'it'} ${message}`)
  }

  #placeOf(exchange: Exchange): Place {
    const pathname = new URL(exchange.path, 'http://any').pathname
    const template = this.#templates.find(([, form]) => form.test(pathname))?.[0]
    if (template === undefined) return this.#generalPlace(exchange, 404)
    const operations = this.#document.paths[template]!
    const method = exchange.method === 'HEAD' ? 'get' : exchange.method.toLowerCase()
    const operation = operations[method]
    if (operation === undefined) {
      expectAllowed(exchange, Object.keys(operations))
      return this.#generalPlace(exchange, 405)
    }
    const response = operation.responses[exchange.status]
    if (response === undefined)
      throw new Error(
        `${summaryOf(exchange)}, which the document does not know: name the problem in the routes.ts of the feature, or in src/api/document/problems.ts`,
      )
    if (response.$ref !== undefined) return this.#sharedPlace(response.$ref)
    const steps = ['paths', template, method, 'responses', String(exchange.status)]
    return { pointer: steps.map(step => `/${escaped(step)}`).join(''), response }
  }

  /** A response that routes share. */
  #sharedPlace(ref: string): Place {
    const pointer = ref.replace('#', '')
    return { pointer, response: schemaAt(this.#document, pointer) }
  }

  #generalPlace(exchange: Exchange, status: number): Place {
    if (exchange.status !== status) throw new Error(`${summaryOf(exchange)}, where the document says ${status}`)
    return { pointer: `/x-without-operation/${status}`, response: this.#document['x-without-operation'][status]! }
  }

  *#headerProblems({ headers }: Exchange, { pointer, response }: Place): Iterable<string> {
    const known = new Map(Object.entries(response.headers ?? {}).map(([name, it]) => [name.toLowerCase(), [name, it]]))
    for (const [name, value] of headers) {
      if (transport.includes(name)) continue
      const [written] = known.get(name) ?? []
      if (written === undefined) yield `the header ${name} is not documented`
      else yield* this.problemsOf(`${pointer}/headers/${written}/schema`, value).map(it => `the header ${name}: ${it}`)
    }
    for (const [name, { required }] of Object.entries(response.headers ?? {})) {
      if (required && !headers.has(name)) yield `the header ${name} is missing`
    }
  }

  *#bodyProblems({ method, headers, text }: Exchange, { pointer, response }: Place): Iterable<string> {
    const type = headers.get('content-type')?.split(';')[0]?.trim()
    if (response.content === undefined) {
      if (type !== undefined || text) yield 'there is a body, where none is documented'
      return
    }
    if (type === undefined || !(type in response.content)) {
      yield `the content type ${type} is not documented`
      return
    }
    if (method === 'HEAD' && text) yield 'HEAD has a body'
    if (method === 'HEAD' || text === undefined || type !== 'application/json') return
    const body = JSON.parse(text)
    yield* this.problemsOf(`${pointer}/content/${escaped(type)}/schema`, body)
    yield* typeProblems(body, response.content[type]?.examples ?? {})
  }

  #validator(pointer: string): ValidateFunction {
    const known = this.#validators.get(pointer)
    if (known) return known
    const schema = schemaAt(this.#document, pointer)
    const text = JSON.stringify(schema)
    const { schemas } = this.#document.components
    const made = this.#validators.get(text) ?? this.#ajv.compile({ ...schema, components: { schemas } })
    this.#validators.set(text, made).set(pointer, made)
    return made
  }
}

function schemaAt(document: object, pointer: string): object {
  let at: unknown = document
  for (const step of pointer.split('/').slice(1)) {
    at = (at as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  if (typeof at !== 'object' || at === null) throw new Error(`the document has no schema at ${pointer}`)
  return at
}

/** Every error of a route must be one of its examples. */
function* typeProblems(body: unknown, examples: Readonly<Record<string, { value: unknown }>>): Iterable<string> {
  const known = Object.values(examples).flatMap(({ value }) => typesOf(value))
  for (const type of typesOf(body)) {
    if (!known.includes(type))
      yield `no example has the type ${type} (src/api/document/problems.ts): only ${known.join(', ')}`
  }
}

function typesOf(body: unknown): string[] {
  const { detail } = (body ?? {}) as { detail?: { type: string }[] }
  return Array.isArray(detail) ? detail.map(({ type }) => type) : []
}

function expectAllowed(exchange: Exchange, methods: readonly string[]): void {
  const documented = methods.flatMap(method => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
  const allowed = exchange.headers.get('allow')?.split(', ') ?? []
  if (documented.sort().join() !== allowed.sort().join()) {
    throw new Error(`${summaryOf(exchange)}, with Allow: ${allowed}, where the document has ${documented}`)
  }
}

function formOf(template: string): RegExp {
  const parts = template.split(/\{\w+\}/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}

const escaped = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')

const summaryOf = ({ method, path, status }: Exchange) => `${method} ${path} was answered ${status}`
