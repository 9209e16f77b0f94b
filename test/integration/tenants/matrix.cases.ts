/**
 * A table of the rights of each person. `blue` is the tenant whose people they are; `green` is another's. A word in the first
 * column is what `kubectl auth can-i` is asked.
 */

/** Columns of the table, from the left. */
export const persons = {
  eve: 'a stranger with an account',
  bot: 'a pod in another namespace, by its token',
  uma: 'a user, by a certificate that the cluster signed on her request',
  max: 'a manager',
  sue: 'a sudoer, without sudo',
  sudo: 'the same, by kubectl sudo',
  lee: 'a member of a group that is eligible for sudo',
  carl: 'an administrator of the cluster',
} as const

export type PersonName = keyof typeof persons

/** `sudo` may delete and change the namespace by RBAC, and is refused by the guard: another test shows that. */
const table = `
                                                       eve bot uma max sue sudo lee carl
list pods -n blue                                      yes yes yes yes yes yes  yes yes
get pods --subresource=log -n blue                     yes yes yes yes yes yes  yes yes
list secrets -n blue                                   -   -   yes -   -   yes  -   yes
create pods -n blue                                    -   -   yes -   -   yes  -   yes
create pods --subresource=exec -n blue                 -   -   yes -   -   yes  -   yes
delete deployments.apps -n blue                        -   -   yes -   -   yes  -   yes
create rolebindings.rbac.authorization.k8s.io -n blue  -   -   yes -   -   yes  -   yes
create networkpolicies.networking.k8s.io -n blue       -   -   yes -   -   yes  -   yes
impersonate serviceaccounts/default -n blue            -   -   yes -   -   yes  -   yes
create resourcequotas -n blue                          -   -   -   -   -   yes  -   yes
update namespaces/blue -n blue                         -   -   -   -   -   yes  -   yes
bind clusterroles/cluster-admin -n blue                -   -   -   -   -   yes  -   yes
escalate roles.rbac.authorization.k8s.io -n blue       -   -   -   -   -   yes  -   yes
create things.example.org -n blue                      -   -   -   -   -   yes  -   yes
get lns/blue                                           yes yes yes yes yes yes  yes yes
update lns/blue                                        -   -   -   yes -   yes  -   yes
delete lns/blue                                        -   -   -   yes -   yes  -   yes
update lns/blue --subresource=status                   -   -   -   -   -   -    -   yes
override lns/blue                                      -   -   -   -   -   -    -   yes
create lns                                             yes yes yes yes yes yes  yes yes
update lns/green                                       -   -   -   -   -   -    -   yes
delete lns/green                                       -   -   -   -   -   -    -   yes
list secrets -n green                                  -   -   -   -   -   -    -   yes
create pods -n green                                   -   -   -   -   -   -    -   yes
list secrets -n skylab                                 -   -   -   -   -   -    -   yes
create pods -n kube-system                             -   -   -   -   -   -    -   yes
impersonate groups/blue-sudoers                        -   -   -   -   yes yes  -   yes
impersonate users/sue                                  -   -   -   -   yes yes  -   yes
impersonate users/uma                                  -   -   -   -   -   -    -   yes
impersonate groups/green-sudoers                       -   -   -   -   -   -    -   yes
impersonate groups/system:masters                      -   -   -   -   -   -    -   yes
create namespaces                                      -   -   -   -   -   -    -   yes
list nodes                                             -   -   -   -   -   -    -   yes
create clusterroles.rbac.authorization.k8s.io          -   -   -   -   -   -    -   yes
create clusterrolebindings.rbac.authorization.k8s.io   -   -   -   -   -   -    -   yes
`

const names = Object.keys(persons) as readonly PersonName[]

/** The question, and the answer to each person. */
export const matrix: readonly { readonly question: string; readonly answers: Readonly<Record<PersonName, string>> }[] =
  table
    .split('\n')
    .slice(2, -1)
    .map(line => {
      const words = line.trim().split(/ +/)
      const cells = words.splice(-names.length)
      const answers = Object.fromEntries(names.map((name, i) => [name, cells[i]])) as Record<PersonName, string>
      return { question: words.join(' '), answers }
    })
