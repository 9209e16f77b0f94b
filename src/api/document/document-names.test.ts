/** Names and words of the document: what generators of clients, and their readers, get of it. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { api } from '../../../test/kit/api/scripted-api.ts'

interface Schema {
  readonly description?: string
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly string[]
}
interface Response {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, object>>
}
interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, Response>>
}

const document = (await (await api()('GET', 'openapi.json')).json()) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}
const { components } = document
const operations = Object.values(document.paths).flatMap(methods => Object.values(methods))

function responseOf(id: string, status: string): Response {
  const response = operations.find(({ operationId }) => operationId === id)!.responses[status]!
  return response.$ref === undefined ? response : components.responses[response.$ref.split('/').at(-1)!]!
}

describe('the names in the document', () => {
  const { schemas } = components

  it('are given to all that is used at more than one place', () => {
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining(['CreateLabOptions', 'ErrorBody', 'ErrorType', 'Event', 'Image', 'Node']),
    )
    expect(Object.keys(schemas)).not.toContain('Error')
    expect(schemas.CreateLab!.properties!.options).toEqual({ $ref: '#/components/schemas/CreateLabOptions' })
    expect(schemas.Lab!.properties!.events!.items).toEqual({ $ref: '#/components/schemas/Event' })
    expect(schemas.Images!.properties!.recommended).toEqual({ $ref: '#/components/schemas/Image' })
    expect(JSON.stringify(document)).not.toContain('x-component')
  })

  it('all lead somewhere, and all are used', () => {
    const used = new Set([...JSON.stringify(document).matchAll(/"#\/components\/(\w+\/\w+)"/g)].map(([, name]) => name))
    const given = Object.entries({ schemas, responses: components.responses }).flatMap(([room, those]) =>
      Object.keys(those).map(name => `${room}/${name}`),
    )
    expect([...used].sort()).toEqual(given.sort())
  })

  it('come with words for each field', () => {
    for (const [name, { properties = {}, description }] of Object.entries(schemas)) {
      for (const [key, field] of Object.entries(properties)) {
        if (field.$ref === undefined) expect(field.description, `${name}.${key}`).toBeTruthy()
      }
      if (!bodies.includes(name)) expect(description, name).toBeTruthy()
    }
  })

  it('list each type of error that a route can answer', () => {
    const types = [...typesIn(document)]
    const known = schemas.ErrorType!.enum!
    const told = types.map(([, type]) => type!).filter(type => known.includes(type))
    expect([...new Set(told)].sort()).toEqual([...known])
  })

  it('of types of errors all stand in the table of docs/clients.md', () => {
    const page = readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8')
    const cells = page.split('\n').flatMap(line => /^\| (`[a-z_]+`.*?) \| [0-9]/.exec(line)?.[1] ?? [])
    const listed = cells.flatMap(cell => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, type]) => type))
    expect(listed.sort()).toEqual([...schemas.ErrorType!.enum!])
  })

  it('say of the events what one is, and of their stream that it is text', () => {
    expect(responseOf('followEvents', '200').content!['text/event-stream']).toMatchObject({
      schema: { type: 'string' },
      'x-event': { $ref: '#/components/schemas/Event' },
    })
  })
})

/** Bodies of answers and requests: what they are, their route says. */
const bodies = ['CreateLab', 'ErrorBody', 'Images', 'Lab', 'Prepulls', 'Users']
const typesIn = (value: object) => JSON.stringify(value).matchAll(/"type":"([a-z_]+)"/g)

describe('the examples of refusals', () => {
  const told = (id: string, status: string) => JSON.stringify(responseOf(id, status))

  it.each([
    ['listLabs', 'admin:jupyterlab', 'exec:notebook'],
    ['deleteLab', 'admin:jupyterlab', 'exec:notebook'],
    ['getOwnLab', 'exec:notebook', 'admin:jupyterlab'],
    ['createLab', 'exec:notebook', 'admin:jupyterlab'],
  ])('of %s name the scope %s and not %s', (id, scope, other) => {
    expect(told(id, '403')).toContain(`lacks the scope ${scope}`)
    expect(told(id, '403')).not.toContain(`lacks the scope ${other}`)
  })

  it('speak of streams, bodies and paths only where there are any', () => {
    expect(told('followEvents', '429')).toContain('event streams')
    expect(told('listLabs', '429')).not.toMatch(/event stream|bodies/)
    expect(told('createLab', '503')).toContain('bodies')
    expect(told('listImages', '422')).not.toMatch(/path/)
    expect(told('getOwnLab', '404')).not.toContain('loc')
    expect(told('getLab', '404')).not.toContain('events')
  })

  it('stand in the document once each', () => {
    const text = JSON.stringify(document)
    expect(text.match(/only 100-continue can be expected/g)).toHaveLength(1)
    expect(text.length).toBeLessThan(100_000)
  })
})
