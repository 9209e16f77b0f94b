/** The schema of GraphQL, by the names of PrimeHub. */
import { buildSchema } from 'graphql'

/** docs/apps-graphql.md says what each field is. */
const text = `
"Any JSON."
scalar JSON

type Query {
  phApplication(where: PhApplicationWhereUniqueInput!): PhApplication
  phApplicationsConnection(
    where: PhApplicationWhereInput
    first: Int
    after: String
    last: Int
    before: String
  ): PhApplicationsConnection
  phAppTemplate(where: PhAppTemplateWhereUniqueInput!): PhAppTemplate
  phAppTemplates(where: PhAppTemplateWhereInput): [PhAppTemplate]
}

type Mutation {
  createPhApplication(data: PhApplicationCreateInput!): PhApplication
  updatePhApplication(where: PhApplicationWhereUniqueInput!, data: PhApplicationUpdateInput!): PhApplication
  deletePhApplication(where: PhApplicationWhereUniqueInput!): PhApplication
  startPhApplication(where: PhApplicationWhereUniqueInput!): PhApplication
  stopPhApplication(where: PhApplicationWhereUniqueInput!): PhApplication
  "At /apps/admin/v1/graphql alone, like the two below."
  createPhAppTemplate(data: PhAppTemplateCreateInput!): PhAppTemplate
  updatePhAppTemplate(where: PhAppTemplateWhereUniqueInput!, data: PhAppTemplateUpdateInput!): PhAppTemplate
  deletePhAppTemplate(where: PhAppTemplateWhereUniqueInput!): PhAppTemplate
}

type PhApplication {
  id: ID!
  displayName: String
  "The id of its template."
  appName: String
  appVersion: String
  appIcon: String
  appDefaultEnv: [DefaultEnvVar]
  "As it was when the app was made."
  appTemplate: PhAppTemplate
  groupName: String
  instanceType: String
  instanceTypeSpec: InstanceType
  scope: String
  appUrl: String
  "Within the cluster."
  internalAppUrl: String
  svcEndpoints: [String]
  stop: Boolean
  "Those that people gave it; secret values are ***."
  env: [EnvVar]
  "Starting, Ready, Updating, Stopping, Stopped or Error."
  status: String
  message: String
  pods: [Pod]
  rewrite: Boolean
}

type Pod {
  name: String
  logEndpoint: String
}

type EnvVar {
  name: String
  value: String
}

type DefaultEnvVar {
  name: String
  description: String
  defaultValue: String
  optional: Boolean
}

type InstanceType {
  id: ID!
  name: String
  displayName: String
  cpuLimit: Float
  "In GiB."
  memoryLimit: Float
  gpuLimit: Int
}

type PageInfo {
  hasNextPage: Boolean!
  hasPreviousPage: Boolean!
  startCursor: String
  endCursor: String
}

type PhApplicationEdge {
  node: PhApplication!
  cursor: String!
}

type PhApplicationsConnection {
  pageInfo: PageInfo!
  edges: [PhApplicationEdge]!
}

type PhAppTemplate {
  id: ID!
  name: String
  description: String
  version: String
  docLink: String
  icon: String
  defaultEnvs: [DefaultEnvVar]
  "{spec}, as in the cluster; absent for the template of an app."
  template: JSON
}

input PhApplicationWhereUniqueInput {
  id: ID!
}

input PhApplicationWhereInput {
  id: ID
  appName_contains: String
  groupName_in: [String]
}

input PhApplicationCreateInput {
  templateId: String
  id: ID!
  displayName: String
  groupName: String
  "A list of {name, value}."
  env: JSON
  instanceType: String
  scope: String
}

input PhApplicationUpdateInput {
  "A list of {name, value}, which replaces those that people gave it."
  env: JSON
  instanceType: String
  scope: String
  displayName: String
}

input PhAppTemplateWhereUniqueInput {
  id: ID!
}

input PhAppTemplateWhereInput {
  id: ID
  name_contains: String
}

input DefaultEnvVarInput {
  name: String!
  description: String
  defaultValue: String
  optional: Boolean
}

input PhAppTemplateCreateInput {
  id: ID!
  name: String
  description: String
  version: String
  docLink: String
  icon: String
  defaultEnvs: [DefaultEnvVarInput]
  template: JSON
}

input PhAppTemplateUpdateInput {
  name: String
  description: String
  version: String
  docLink: String
  icon: String
  defaultEnvs: [DefaultEnvVarInput]
  template: JSON
}
`

export const graphqlSchema = buildSchema(text)
