/** What a person can try while the demo of apps runs. */
import type { AppsReport } from './report.ts'

export interface GuidePlaces {
  /** Path of kubectl. */
  readonly kubectl: string
  /** The process ids of the gateways. */
  readonly gateways: readonly { readonly name: string; readonly pid: number }[]
  /** Folder of the apps' files. */
  readonly objects: string
}

export type GuideSource = Pick<AppsReport, 'url' | 'rest' | 'authority' | 'kubeconfig' | 'people' | 'apps'>

/** Addresses, and commands to try. */
export function formatAppsGuide(source: GuideSource, { kubectl, gateways, objects }: GuidePlaces): string {
  const { url, rest, authority, kubeconfig, people, apps } = source
  const lines = (values: readonly string[]) => values.join('\n                   ')
  const k = `${kubectl} --kubeconfig ${kubeconfig} -n hub`
  const asAda = `-H "Authorization: Bearer $(cat ${people.ada.tokenFile})"`
  return `
Open               ${lines(apps.filter(app => app.url !== '').map(app => app.url))}
                   Your browser does not know the authority of this run: go on, or import ${authority}
Log in as          with the password
                   ada, of the group phusers       ${people.ada.password}
                   max, of no group with apps      ${people.max.password}
Log out            ${url}/console/logout
The apps           ${objects}

Look:
  ${k} get phapplications,phapptemplates
  ${k} get deployments,services,networkpolicies,pods
  ${k} explain phapplication.spec
Do the same by REST, where root (${people.root.tokenFile}) is an administrator:
  curl -s ${asAda} ${rest}/apps/v1/templates
  curl -s ${asAda} ${rest}/apps/v1/apps
  curl -s ${asAda} ${rest}/apps/v1/apps/oscillator/pods
  curl -sN ${asAda} "${rest}/api/logs/pods/$(${k} get pods -o name | sed -n 's|pod/\\(app-oscillator-.*\\)|\\1|p')?follow=true"
Open it to everybody, and to the group again; look at an open page meanwhile:
  ${k} patch phapplication orbits --type=merge -p '{"spec":{"scope":"public"}}'
  ${k} patch phapplication orbits --type=merge -p '{"spec":{"scope":"group"}}'
Stop it, then start it by the button of its page:
  ${k} patch phapplication orbits --type=merge -p '{"spec":{"stop":true}}'
Kill a gateway; it comes back after 2 s, and open pages go on by the other:
  ${gateways.map(({ name, pid }) => `kill -9 ${pid}     # ${name}`).join('\n  ')}
`
}
