/** Makes the reference page of the configuration, docs/configuration.md, from the schema and docs/examples. Pure. */
import { z } from 'zod'
import { configSchema } from './schema.ts'
import { parseYaml } from './yaml.ts'

/** A file of docs/examples: one block or more, as in a configuration. */
export interface Example {
  readonly name: string
  readonly text: string
}

/** The parts of a JSON schema in use here. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | false
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
}

/** One key of the configuration. */
interface Key {
  /** Names from the block on; `<name>` means any name, `[]` the entries of a list. */
  readonly path: readonly string[]
  readonly schema: Schema
  /** Undefined if there is none. */
  readonly byDefault: unknown
  readonly required: boolean
}

/**
 * The page, as Markdown.
 * @throws when keys have no description or no example, with all of them
 */
export function configReference(examples: readonly Example[]): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const parsed = examples.map(example => ({ ...example, value: valueIn(example) }))
  const blocks = Object.entries(schema.properties ?? {})
  const plain = blocks.filter(([, block]) => block.properties === undefined)
  const keys = blocks.flatMap(([name, block]) => keysOf([name], block))
  demandAll(keys, parsed)
  const sections = blocks
    .filter(([, block]) => block.properties !== undefined)
    .map(([name, block]) => section(name, block.description ?? '', keysOf([name], block), parsed))
  const general = plain.flatMap(([name, block]) => keysOf([name], block))
  return [head, section('', 'Beside the blocks', general, parsed), ...sections].join('\n')
}

type Parsed = Example & { readonly value: unknown }

function valueIn({ name, text }: Example): unknown {
  const yaml = parseYaml(text)
  if ('problems' in yaml) throw new Error(`${name}: ${yaml.problems.join('; ')}`)
  return yaml.value
}

function section(name: string, description: string, keys: readonly Key[], examples: readonly Parsed[]): string {
  const lines = keys.map(key => `| ${cells(key, name, examples).join(' | ')} |`)
  const own = examples.filter(({ value }) => keys.some(({ path }) => path[0]! in (value as object)))
  return [
    name === '' ? `## ${description}` : `## \`${name}\`\n${description}.\n`,
    '| key | meaning | value | unit | default | example |',
    '|---|---|---|---|---|---|',
    ...lines,
    '',
    ...own.map(({ text }) => `\`\`\`yaml\n${text.trim()}\n\`\`\`\n`),
  ].join('\n')
}

function cells(key: Key, block: string, examples: readonly Parsed[]): string[] {
  const { path, schema, required, byDefault } = key
  const name = shown(block === '' ? path : path.slice(1))
  const initially = byDefault === undefined ? (required ? 'required' : '') : code(byDefault)
  const example = code(exampleOf(key, examples))
  return [`\`${name}\``, escaped(schema.description!), kind(schema), unit(path.at(-1)!), initially, example]
}

/** All keys of a schema, with those of nested blocks. */
function keysOf(path: readonly string[], schema: Schema, required = false, outer?: unknown): Key[] {
  const byDefault = schema.default ?? outer
  const key = { path, schema, required, byDefault }
  if (schema.items?.properties) return [key, ...keysOf([...path, '[]'], schema.items)]
  const inner = mapOfBlocks(schema)
  if (inner) return [key, ...keysOf([...path, '<name>'], inner)]
  if (schema.properties === undefined) return [key]
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const ofBlock = (byDefault as Record<string, unknown> | undefined)?.[name]
    return keysOf([...path, name], property, schema.required?.includes(name), ofBlock)
  })
}

function mapOfBlocks({ additionalProperties: inner }: Schema): Schema | undefined {
  if (!inner) return undefined
  return inner.properties ? inner : undefined
}

function demandAll(keys: readonly Key[], examples: readonly Parsed[]): void {
  const mute = keys.filter(({ schema }) => !schema.description).map(({ path }) => shown(path))
  if (mute.length > 0) throw new Error(`without a description in src/config/schema.ts: ${mute.join(', ')}`)
  const bare = keys.filter(key => exampleOf(key, examples) === undefined).map(({ path }) => shown(path))
  if (bare.length > 0) throw new Error(`without an example in docs/examples/*.yaml: ${bare.join(', ')}`)
}

/** The value of a key in the first example that has one. */
function exampleOf({ path }: Key, examples: readonly Parsed[]): unknown {
  for (const { value } of examples) {
    const found = valuesAt(value, path)[0]
    if (found !== undefined) return found
  }
  return undefined
}

function valuesAt(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [value]
  if (typeof value !== 'object' || value === null) return []
  const all = name === '[]' || name === '<name>'
  const next = all ? Object.values(value) : [(value as Record<string, unknown>)[name]]
  return next.filter(it => it !== undefined).flatMap(it => valuesAt(it, rest))
}

function shown(path: readonly string[]): string {
  return path.join('.').replaceAll('.[]', '[]')
}

/** The permitted values, in a few words. */
function kind(schema: Schema): string {
  if (schema.enum) return schema.enum.map(value => `\`${value}\``).join(', ')
  if (schema.anyOf) return [...new Set(schema.anyOf.map(kind))].join(' or ')
  if (schema.items) return `list of ${plural(kind(schema.items))}`
  if (schema.additionalProperties) return `map of ${plural(kind(schema.additionalProperties))}`
  if (schema.type === 'integer' || schema.type === 'number') return bounded(schema)
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  return schema.type === 'object' ? 'map' : String(schema.type ?? 'anything')
}

const plural = (words: string) => (/^(string|number|boolean|map)$/.test(words) ? `${words}s` : words)

function bounded({ type, minimum, maximum, exclusiveMinimum }: Schema): string {
  const name = type === 'integer' ? 'whole number' : 'number'
  const safe = (value: number | undefined) => value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER
  const bounds = [
    ...(safe(minimum) ? [`≥ ${minimum}`] : []),
    ...(safe(exclusiveMinimum) ? [`> ${exclusiveMinimum}`] : []),
    ...(safe(maximum) ? [`≤ ${maximum}`] : []),
  ]
  return [name, ...bounds].join(' ')
}

const units: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/Seconds$/, 'seconds'],
  [/Ms$/, 'milliseconds'],
  [/Hours$/, 'hours'],
  [/Bytes(InFlight)?$/, 'bytes'],
  [/Length$/, 'characters'],
  [/^cpu$/, 'CPUs'],
  [/^(memory|storage|defaultStorage|sizeLimit|size)$/, 'bytes, or as it says'],
]

/** Reads the unit from the name of a key. */
function unit(name: string): string {
  return units.find(([ending]) => ending.test(name))?.[1] ?? ''
}

/** Formats a value as in YAML. */
function code(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@*-]+$/.test(value)) return `\`${value}\``
  return `\`${escaped(JSON.stringify(value).replaceAll('","', '", "').replaceAll('":', '": '))}\``
}

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

const head = `# Configuration

<!-- Made by \`npm run docs\` of src/config/schema.ts and docs/examples: change those. -->

The configuration is one YAML file, read as YAML 1.1. Unknown keys and duplicate keys are refused. A missing key has its
default; only a key that is \`required\` must be set, within its block. Paths of files are relative to the file's own folder.
The file never holds secrets: they are in files that it names, or in the environment:

| variable | overrides |
|---|---|
| \`SKYLAB_SEALING_KEY\` | used before \`sealing.keyFiles\`: 32 bytes in base64, the same for all replicas |
| \`SKYLAB_PORT\` | \`api.port\` |
| \`SKYLAB_MONITORING_PORT\` | \`api.monitoringPort\` |
| \`SKYLAB_REPLICA\` | the name of the replica in logs and User-Agent (default: the host's) |

\`skylab check --config FILE\` prints \`ok\`, or every problem by its key. In keys, \`<name>\` stands for any name, and \`[]\` for
the entries of a list. Under each table is an example of the whole block. [example.yaml](example.yaml) is a small complete
file.
`
