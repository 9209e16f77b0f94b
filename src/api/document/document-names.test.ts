/** Names and texts of the document, which generators of clients and readers use. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { activityDocument } from '../../../test/kit/api/activity-api.ts'
import { appsDocument } from '../../../test/kit/api/apps-api.ts'
import { dispatchDocument } from '../../../test/kit/api/dispatch-api.ts'
import { api } from '../../../test/kit/api/scripted-api.ts'
import { tenantsDocument } from '../../../test/kit/api/tenants-api.ts'

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

  it('cover all parts that are used at more than one place', () => {
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining(['CreateLabOptions', 'ErrorBody', 'ErrorType', 'Event', 'Image', 'Node']),
    )
    expect(Object.keys(schemas)).not.toContain('Error')
    expect(schemas.CreateLab!.properties!.options).toEqual({ $ref: '#/components/schemas/CreateLabOptions' })
    expect(schemas.Lab!.properties!.events!.items).toEqual({ $ref: '#/components/schemas/Event' })
    expect(schemas.Images!.properties!.recommended).toEqual({ $ref: '#/components/schemas/Image' })
    expect(JSON.stringify(document)).not.toContain('x-component')
  })

  it('all refer to something, and are all used', () => {
    const used = new Set([...JSON.stringify(document).matchAll(/"#\/components\/(\w+\/\w+)"/g)].map(([, name]) => name))
    const given = Object.entries({ schemas, responses: components.responses }).flatMap(([room, those]) =>
      Object.keys(those).map(name => `${room}/${name}`),
    )
    expect([...used].sort()).toEqual(given.sort())
  })

  it('have descriptions for each field', () => {
    for (const [name, { properties = {}, description }] of Object.entries(schemas)) {
      for (const [key, field] of Object.entries(properties)) {
        if (field.$ref === undefined) expect(field.description, `${name}.${key}`).toBeTruthy()
      }
      if (!bodies.includes(name)) expect(description, name).toBeTruthy()
    }
  })

  it('list each type of error that a route of any API can answer', () => {
    const types = [document, activityDocument(), tenantsDocument(), appsDocument(), dispatchDocument()].flatMap(
      each => [...typesIn(each)],
    )
    const known = schemas.ErrorType!.enum!
    const listed = types.map(([, type]) => type!).filter(type => known.includes(type))
    expect([...new Set(listed)].sort()).toEqual([...known])
  })

  it('of error types are all in the table of docs/clients.md', () => {
    const page = readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8')
    const cells = page.split('\n').flatMap(line => /^\| (`[a-z_]+`.*?) \| [0-9]/.exec(line)?.[1] ?? [])
    const listed = cells.flatMap(cell => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, type]) => type))
    expect(listed.sort()).toEqual([...schemas.ErrorType!.enum!])
  })

  it('describe one event, and its stream as text', () => {
    expect(responseOf('followEvents', '200').content!['text/event-stream']).toMatchObject({
      schema: { type: 'string' },
      'x-event': { $ref: '#/components/schemas/Event' },
    })
  })
})

/** Bodies of answers and requests, whose routes describe them. */
const bodies = ['CreateLab', 'ErrorBody', 'Images', 'Lab', 'Prepulls', 'Users']
const typesIn = (value: object) => JSON.stringify(value).matchAll(/"type":"([a-z_]+)"/g)

describe('the examples of refusals', () => {
  const responseText = (id: string, status: string) => JSON.stringify(responseOf(id, status))

  it.each([
    ['listLabs', 'admin:jupyterlab', 'exec:notebook'],
    ['deleteLab', 'admin:jupyterlab', 'exec:notebook'],
    ['getOwnLab', 'exec:notebook', 'admin:jupyterlab'],
    ['createLab', 'exec:notebook', 'admin:jupyterlab'],
  ])('of %s name the scope %s and not %s', (id, scope, other) => {
    expect(responseText(id, '403')).toContain(`lacks the scope ${scope}`)
    expect(responseText(id, '403')).not.toContain(`lacks the scope ${other}`)
  })

  it('mention streams, bodies and paths only where a route has them', () => {
    expect(responseText('followEvents', '429')).toContain('event streams')
    expect(responseText('listLabs', '429')).not.toMatch(/event stream|bodies/)
    expect(responseText('createLab', '503')).toContain('bodies')
    expect(responseText('listImages', '422')).not.toMatch(/path/)
    expect(responseText('getOwnLab', '404')).not.toContain('loc')
    expect(responseText('getLab', '404')).not.toContain('events')
  })

  it('are in the document once each', () => {
    const text = JSON.stringify(document)
    expect(text.match(/only 100-continue can be expected/g)).toHaveLength(1)
    expect(text.length).toBeLessThan(100_000)
  })
})
