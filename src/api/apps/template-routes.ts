/** Declares the routes of templates; their handlers are in `template-handlers.ts`. */
import { createRoute } from '@hono/zod-openapi'
import { etagHeader } from '../document/headers.ts'
import { bodyProblems, filterProblems, forAdmins, forCaller, type ProblemName, refusals } from '../document/problems.ts'
import { answered, json } from '../document/responses.ts'
import { plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { CommonParts } from '../request/env.ts'
import { type AppAudience, prefixes } from './parts.ts'
import { scopes, suffixes } from './routes.ts'
import { changeHeaders, templatePath, templatesQuery } from './schemas.ts'
import { templateBody, templateDetail, templateList } from './template-schemas.ts'
import * as words from './template-words.ts'

const versioned = (description: string) => {
  const answer = json(description, templateDetail, words.detailExample)
  return { ...answer, headers: answered({ ETag: etagHeader }) }
}
const params = templatePath
const admitted = { user: forCaller, admin: forAdmins } as const

export function templateRoutes(audience: AppAudience, config: CommonParts['config']) {
  const common = { tags: ['templates'], security: requires(config.identity, scopes[audience]) }
  const path = `${prefixes[audience]}/templates`
  const named = (operation: string) => `${operation}${suffixes[audience]}`
  const problems: readonly ProblemName[] = [...admitted[audience], 'noBearer', 'notSynced']
  return {
    list: createRoute({
      ...common,
      ...{ method: 'get', path, operationId: named('listTemplates'), summary: 'All templates' },
      description: words.listWords,
      request: { headers: plainHeaders, query: templatesQuery },
      responses: {
        200: json('a page', templateList, words.listExample),
        ...refusals([...problems, ...filterProblems]),
      },
    }),
    detail: createRoute({
      ...common,
      ...{ method: 'get', path: `${path}/{id}`, operationId: named('getTemplate'), summary: 'A template' },
      description: words.detailWords,
      request: { params, headers: plainHeaders },
      responses: { 200: versioned('the template'), ...refusals([...problems, 'badTemplateId', 'noTemplate']) },
    }),
  }
}

/** Those of administrators alone. */
export function templateChanges(config: CommonParts['config']) {
  const common = { tags: ['templates'], security: requires(config.identity, scopes.admin) }
  const path = `${prefixes.admin}/templates/{id}`
  const request = { params, headers: changeHeaders }
  const problems = [...forAdmins, 'noBearer', 'notSynced', 'ofPage', 'badTemplateId', 'noTemplate', 'templateChanged']
  const content = { 'application/json': { schema: templateBody, example: words.bodyExample } }
  return {
    put: createRoute({
      ...common,
      ...{ method: 'put', path, operationId: 'putTemplate', summary: 'Make or replace a template' },
      description: words.putWords,
      request: { ...request, body: { required: true, content } },
      responses: {
        200: versioned('it is replaced'),
        201: versioned('it is made'),
        ...refusals([...(problems as ProblemName[]), ...bodyProblems, 'badTemplate']),
      },
    }),
    delete: createRoute({
      ...common,
      ...{ method: 'delete', path, operationId: 'deleteTemplate', summary: 'Delete a template' },
      description: words.deleteWords,
      request,
      responses: { 204: { description: 'it is deleted', headers: answered() }, ...refusals(problems as ProblemName[]) },
    }),
  }
}
