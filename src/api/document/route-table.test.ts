/** docs/identity.md lists all routes with their scopes and ingresses, as the API and the overlay for Gafaelfawr do. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { activityDocument } from '../../../test/kit/api/activity-api.ts'
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
  'skylab-activity-user': 'users',
  'skylab-activity-admin': 'administrators',
  'skylab-activity-lab': 'labs',
}
const rulesIn = (file: string): Rule[] =>
  parseAllDocuments(read(`k8s/overlays/gafaelfawr/${file}`)).flatMap(document => {
    const { metadata, template } = document.toJS()
    return template.spec.rules[0].http.paths.map(({ path, pathType }: { path: string; pathType: string }) => ({
      expression: new RegExp(`^${path}${pathType === 'Exact' ? '$' : ''}`),
      ...{ length: path.length, ingress: names[metadata.name]! },
    }))
  })
const ofOverlay = rulesIn('ingresses.yaml')

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

describe('the routes of activity', () => {
  const root = '/activity/'
  const shortened = (path: string) =>
    path
      .replace(/\/(lab|app|notebook|statefulset)((\/\{\w+\})+)/, (_, __, names) => (names ? '/<workload>' : ''))
      .replace(/^admin\/v1\/(lab|app|notebook|statefulset)$/, 'admin/v1/<kind>')
      .replace('{username}', '<user>')
  const documented = Object.entries(activityDocument().paths as Record<string, Record<string, Operation>>)
    .filter(([path]) => path.startsWith(root))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => {
        const isOfLab = path.startsWith('/activity/lab/')
        const scope = isOfLab ? "the lab's token" : scopeOf(operation)
        return { route: `${method.toUpperCase()} ${shortened(path.slice(root.length))}`, scope }
      }),
    )
  const unique = [...new Map(documented.map(each => [each.route, each])).values()]
  const rows = tableOf('| route of activity | scope |').map(([route, scope, ingress]) => ({
    ...{ route: route!, scope: scope!, ingress: ingress! },
  }))

  it('are exactly those of their table, with their scopes', () => {
    expect(rows.map(({ route, scope }) => ({ route, scope })).sort(byRoute)).toEqual(unique.sort(byRoute))
  })

  it('go through the ingress of the table, by the page and by the overlay', () => {
    const ofActivity: Rule[] = tableOf('| ingress of activity for | path |').map(([ingress, path]) => ({
      ...{ expression: new RegExp(`^${path}`), length: path!.length, ingress: ingress! },
    }))
    const all = [...ofOverlay, ...rulesIn('activity.yaml')]
    for (const { route, ingress } of rows) {
      const path = `${root}${route.split(' ')[1]!.replace('<user>', 'ada').replace('<workload>', 'lab/ada').replace('<kind>', 'lab')}`
      expect([path, chosen(ofActivity, path)]).toEqual([path, ingress])
      expect([path, chosen(all, path)]).toEqual([path, ingress])
    }
  })
})
