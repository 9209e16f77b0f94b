/** docs/identity.md lists all routes with their scopes and ingresses, as the API and the overlay for Gafaelfawr do. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { apiParts, prefix } from '../../../test/kit/api/scripted-api.ts'
import { createApi } from '../app.ts'
import { apiDocument } from './document.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const page = read('docs/identity.md')

/** The rows of the table with this head, as cells without backticks. */
function tableOf(head: string): string[][] {
  const rows = page.slice(page.indexOf(head)).split('\n\n')[0]!.split('\n').slice(2)
  return rows.map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('`', '')),
  )
}

interface Operation {
  readonly security?: readonly { readonly bearer?: readonly string[] }[]
}
const paths = apiDocument(createApi(apiParts())).paths as Record<string, Record<string, Operation>>
const scopeOf = ({ security }: Operation) => security?.flatMap(({ bearer }) => bearer ?? []).join() || 'none'
const routes = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path
      .slice(prefix.length + 1)
      .replace('{username}', '<user>')
      .replace('{file}', '<file>')}`,
    scope: scopeOf(operation),
  })),
)

const table = tableOf('| route | scope | ingress |').map(([route, scope, ingress]) => ({
  ...{ route: route!, scope: scope!, ingress: ingress! },
}))
const byRoute = (one: { route: string }, other: { route: string }) => (one.route < other.route ? -1 : 1)
/** A path of a route, as a client writes it. */
const pathOf = (route: string) => `/${route.split(' ')[1]!.replace('<user>', 'ada').replace('<file>', 'page.js')}`

it('the table of routes has exactly the existing routes, with their scopes', () => {
  expect(table.map(({ route, scope }) => ({ route, scope })).sort(byRoute)).toEqual(routes.sort(byRoute))
})

interface Rule {
  readonly expression: RegExp
  readonly length: number
  readonly ingress: string
}

/** As nginx does: the longest expression first, each anchored at the start. */
const chosen = (rules: readonly Rule[], path: string) =>
  rules.toSorted((a, b) => b.length - a.length).find(({ expression }) => expression.test(path))?.ingress

const ofPage: Rule[] = tableOf('| ingress for | paths, under the prefix |').flatMap(([ingress, cell]) =>
  cell!.split(', ').map(text => ({ expression: new RegExp(`^${text}`), length: text.length, ingress: ingress! })),
)

const names: Readonly<Record<string, string>> = {
  'skylab-user': 'users',
  'skylab-admin': 'administrators',
  'skylab-docs': 'docs',
}
const ofOverlay: Rule[] = parseAllDocuments(read('k8s/overlays/gafaelfawr/ingresses.yaml')).flatMap(document => {
  const { metadata, template } = document.toJS()
  return template.spec.rules[0].http.paths.map(({ path, pathType }: { path: string; pathType: string }) => ({
    expression: new RegExp(`^${path}${pathType === 'Exact' ? '$' : ''}`),
    ...{ length: path.length, ingress: names[metadata.name]! },
  }))
})

describe.each(table)('$route', ({ route, ingress }) => {
  it.each([
    ['the ingresses of the page', ofPage, pathOf(route)],
    ['those of the overlay', ofOverlay, prefix + pathOf(route)],
  ])('goes through the ingress of the table, by %s', (_, rules, path) => {
    expect(chosen(rules, path)).toBe(ingress)
  })
})

it('the ingresses of the page match no other path', () => {
  const others = ['/', '/labs/ada/other', '/labs/ada/create/more', '/metrics', '/images/more', '/lab-form', '/docs/a/b']
  expect(others.filter(path => chosen(ofPage, path) !== undefined)).toEqual([])
})
