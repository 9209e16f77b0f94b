/** The queries that clients of PrimeHub send, by its names. */

const info = `
fragment PhApplicationInfo on PhApplication {
  id
  displayName
  appVersion
  appName
  appIcon
  appDefaultEnv { name defaultValue optional description }
  appTemplate { name docLink description }
  groupName
  instanceType
  instanceTypeSpec { name displayName cpuLimit memoryLimit gpuLimit }
  scope
  appUrl
  internalAppUrl
  svcEndpoints
  env { name value }
  stop
  status
  message
  pods { logEndpoint }
}`

const mutation = (name: string) => `
mutation M($where: PhApplicationWhereUniqueInput!) {
  ${name}(where: $where) { ...PhApplicationInfo }
}
${info}`

export const primehubQueries = {
  templates: `
query GetPhAppTemplates($where: PhAppTemplateWhereInput) {
  phAppTemplates(where: $where) {
    id
    icon
    template
    defaultEnvs { name defaultValue optional description }
    name
    version
    description
    docLink
  }
}`,
  app: `
query GetPhApplication($where: PhApplicationWhereUniqueInput!) {
  phApplication(where: $where) { ...PhApplicationInfo }
}
${info}`,
  apps: `
query PhApplicationsConnection(
  $where: PhApplicationWhereInput, $first: Int, $after: String, $last: Int, $before: String) {
  phApplicationsConnection(where: $where, first: $first, after: $after, last: $last, before: $before) {
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { ...PhApplicationInfo } }
  }
}
${info}`,
  create: `
mutation CreatePhApplication($data: PhApplicationCreateInput!) {
  createPhApplication(data: $data) { id }
}`,
  update: `
mutation UpdatePhApplication($where: PhApplicationWhereUniqueInput!, $data: PhApplicationUpdateInput!) {
  updatePhApplication(where: $where, data: $data) { ...PhApplicationInfo }
}
${info}`,
  start: mutation('startPhApplication'),
  stop: mutation('stopPhApplication'),
  delete: mutation('deletePhApplication'),
}
