/** All errors of the API: status, occasion, headers and an example. `problems.ts` lists those of each route. */
import type { ErrorDetail } from '../../base/errors.ts'
import { allowHeader, authenticateHeader, type Headers, retryAfterHeader, upgradeHeader } from './headers.ts'
import type { ProblemType } from './problem-types.ts'

export interface Problem {
  readonly status: number
  readonly when: string
  readonly example: ErrorDetail & { readonly type: ProblemType }
  readonly headers?: Headers
  /** Answered before the request has an id. */
  readonly nameless?: true
}

const username = ['path', 'username']
const body = (...path: string[]) => ['body', ...path]

export const problemTable = {
  badRequest: {
    status: 400,
    when: 'the request is not well-formed HTTP',
    example: { msg: 'not a well-formed request', type: 'malformed' },
    nameless: true,
  },
  badHead: {
    status: 400,
    when: 'the path could be read in two ways, a header that may appear once appears twice, or Host is missing or is not the name or address of a host',
    example: { msg: 'the path has dot segments', type: 'malformed', loc: ['path'] },
  },
  badJson: {
    status: 400,
    when: 'the body is not well-formed JSON in UTF-8',
    example: { msg: 'the body is not well-formed JSON in UTF-8', type: 'malformed', loc: body() },
  },
  badEventId: {
    status: 400,
    when: 'Last-Event-ID is not the id of an event',
    example: {
      msg: 'Last-Event-ID is not the id of an event',
      type: 'malformed',
      loc: ['header', 'last-event-id'],
    },
  },
  unauthorized: {
    status: 401,
    when: 'the token is missing, unknown or no longer valid',
    example: { msg: 'a valid token is required', type: 'unauthorized', loc: ['header', 'authorization'] },
    headers: { 'WWW-Authenticate': authenticateHeader },
  },
  noUserScope: {
    status: 403,
    when: 'the token lacks the scope exec:notebook',
    example: { msg: 'the token lacks the scope exec:notebook', type: 'scope_missing' },
  },
  noAdminScope: {
    status: 403,
    when: 'the token lacks the scope admin:jupyterlab',
    example: { msg: 'the token lacks the scope admin:jupyterlab', type: 'scope_missing' },
  },
  otherUser: {
    status: 403,
    when: 'the user in the path is not the caller',
    example: { msg: 'this is another user’s lab', type: 'other_user', loc: username },
  },
  refusedToken: {
    status: 403,
    when: 'the source of identities refuses the token',
    example: { msg: 'the source of identities refuses this token', type: 'forbidden' },
  },
  badClaims: {
    status: 403,
    when: 'the token is valid, but one of its claims cannot be used',
    example: { msg: 'the claim uid cannot be used', type: 'claim_unusable' },
  },
  noLabForYou: {
    status: 403,
    when: 'the caller’s quota, UID, GID, groups or name do not permit a lab, or do not permit this size or image',
    example: {
      msg: 'The size large is more than your quota allows: 4 CPUs of 2',
      type: 'forbidden',
      loc: body('options', 'size'),
    },
  },
  strongToken: {
    status: 403,
    when: 'labs get their user’s token, and the caller’s has the administrators’ scope',
    example: {
      msg: 'Your token has the scope admin:jupyterlab, and this site puts tokens into labs',
      type: 'token_too_strong',
      loc: ['header', 'authorization'],
    },
  },
  ofPage: {
    status: 403,
    when: 'behind Gafaelfawr, a page in a browser requests a change',
    example: { msg: 'the request comes from a page in a browser', type: 'forbidden', loc: ['header', 'origin'] },
  },
  noBearer: {
    status: 403,
    when: 'the request has a cookie, or comes from a page in a browser: these routes take bearer tokens alone',
    example: {
      msg: 'these routes take bearer tokens alone, and no cookies',
      type: 'forbidden',
      loc: ['header', 'cookie'],
    },
  },
  notEligible: {
    status: 403,
    when: '`spec.sudo.eligible` names neither the caller nor a group of theirs',
    example: { msg: 'spec.sudo.eligible names neither you nor a group of yours', type: 'not_eligible' },
  },
  noClusterUser: {
    status: 403,
    when: 'no user of the cluster can have the name that `tenants.rest.usernameTemplate` makes of the caller’s',
    example: {
      msg: 'no user of the cluster can have the name that tenants.rest.usernameTemplate makes',
      type: 'forbidden',
    },
  },
  noRole: {
    status: 403,
    when: 'the caller has no role in the LNamespace',
    example: { msg: 'you have no role in this LNamespace', type: 'forbidden' },
  },
  noTenant: {
    status: 404,
    when: 'there is no LNamespace of this name',
    example: { msg: 'there is no LNamespace of this name', type: 'unknown_tenant', loc: ['path', 'name'] },
  },
  sudoOff: {
    status: 404,
    when: 'sudo by REST is off at this site',
    example: { msg: 'sudo by REST is off: tenants.rest.usernameTemplate is not set', type: 'sudo_off' },
  },
  noGrant: {
    status: 404,
    when: 'the caller has no sudo with an end here',
    example: { msg: 'you have no sudo with an end here', type: 'no_grant' },
  },
  notAccepted: {
    status: 409,
    when: 'the LNamespace is not accepted, so nobody has rights by it; its condition `Accepted` says why',
    example: { msg: 'it is not accepted: the name kube-x is reserved', type: 'not_accepted' },
  },
  badTenantName: {
    status: 422,
    when: 'the name in the path cannot be the name of a namespace',
    example: { msg: 'is not the name of a namespace', type: 'invalid', loc: ['path', 'name'] },
  },
  badWish: {
    status: 422,
    when: 'the time is not a whole number of seconds, or is more than `spec.sudo.maxSeconds`; or the reason is too long, or has a control character',
    example: { msg: 'is more than spec.sudo.maxSeconds, which is 3600', type: 'invalid', loc: body('ttlSeconds') },
  },
  tooManyGrants: {
    status: 429,
    when: 'as many people have sudo with an end here as can',
    example: { msg: '100 people have sudo with an end here; no more can', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  notSynced: {
    status: 503,
    when: 'the watches of the replica do not show the cluster yet',
    example: { msg: 'the watches do not show the cluster yet', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  unguarded: {
    status: 503,
    when: 'the admission policies of tenants are missing, so nothing is granted; or others write the LNamespace all the time',
    example: { msg: 'nothing is granted now: the admission policies of tenants are not at work', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  badQuery: {
    status: 400,
    when: 'the query is not percent-encoded UTF-8',
    example: { msg: 'the query is not percent-encoded UTF-8', type: 'malformed', loc: ['query'] },
  },
  notMember: {
    status: 403,
    when: 'the caller is no member of the group of the app',
    example: { msg: 'you are not a member of the group physics', type: 'forbidden' },
  },
  noApp: {
    status: 404,
    when: 'there is no app of this id, or its namespace is not that of its group, so that only administrators see it',
    example: { msg: 'there is no app of this id', type: 'unknown_app', loc: ['path', 'id'] },
  },
  secretTaken: {
    status: 409,
    when: 'a secret value was sent, and a Secret of the name that the controller drew for it is there already',
    example: {
      msg: 'a Secret app-mlflow-env-8c1f0a9b2d3e4f57 is there already: send the change again',
      type: 'conflict',
    },
  },
  appChanged: {
    status: 412,
    when: 'the app has another version than `If-Match` names',
    example: {
      msg: 'the app has another version than If-Match names',
      type: 'changed',
      loc: ['header', 'if-match'],
    },
  },
  noPod: {
    status: 404,
    when: 'no app has a pod of this name',
    example: { msg: 'no app has a pod of this name', type: 'unknown_pod', loc: ['path', 'pod'] },
  },
  noLogYet: {
    status: 409,
    when: 'the container has no log yet, for the reason in the cluster’s words',
    example: {
      msg: 'container "mlflow" in pod "app-mlflow-7c9d5b6f4-x2x8k" is waiting to start: ContainerCreating',
      type: 'conflict',
    },
  },
  badPodName: {
    status: 422,
    when: 'the name in the path cannot be that of a pod',
    example: { msg: 'is no name in the cluster', type: 'invalid', loc: ['path', 'pod'] },
  },
  tooManyLogs: {
    status: 429,
    when: 'the user reads as many logs at once as `api.limits` permit',
    example: { msg: 'too many logs at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  crowdedLogs: {
    status: 503,
    when: 'the replica sends as many logs at once as it can',
    example: { msg: 'this replica has too many logs at once', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  idTaken: {
    status: 409,
    when: 'another app has the id, or the app of this id was made by another wish',
    example: { msg: 'another app has this id', type: 'conflict', loc: body('id') },
  },
  badQueryText: {
    status: 422,
    when: 'the query is empty or longer than 16,384 characters, or a key has a value of another type',
    example: { msg: 'Too small: expected string to have >=1 characters', type: 'invalid', loc: body('query') },
  },
  badNewApp: {
    status: 422,
    when: 'a value cannot be; for example a template, a group or an instance type that does not exist, or an empty value of a variable that the template requires',
    example: {
      msg: 'the template requires a value of BACKEND_STORE_URI',
      type: 'invalid',
      loc: ['body', 'env', 0, 'value'],
    },
  },
  noTemplate: {
    status: 404,
    when: 'there is no template of this id, or the site has none',
    example: { msg: 'there is no template of this id', type: 'unknown_template', loc: ['path', 'id'] },
  },
  templateChanged: {
    status: 412,
    when: 'the template has another version than `If-Match` names',
    example: {
      msg: 'the template has another version than If-Match names',
      type: 'changed',
      loc: ['header', 'if-match'],
    },
  },
  badTemplate: {
    status: 422,
    when: 'a value cannot be, or the API server refuses the template',
    example: {
      msg: 'the API server refuses it: spec.icon: Invalid value: "string": icon must be an address with http or https, or data:image',
      type: 'invalid',
      loc: body(),
    },
  },
  badTemplateId: {
    status: 422,
    when: 'the id in the path cannot be that of a template',
    example: { msg: 'is not the id of a template', type: 'invalid', loc: ['path', 'id'] },
  },
  badAppId: {
    status: 422,
    when: 'the id in the path cannot be that of an app',
    example: { msg: 'is not the id of an app', type: 'invalid', loc: ['path', 'id'] },
  },
  badFilter: {
    status: 422,
    when: 'a parameter of the query is repeated or has a value that it cannot have',
    example: { msg: 'is not a number from 1 to 200', type: 'invalid', loc: ['query', 'limit'] },
  },
  unknownFilter: {
    status: 422,
    when: 'a parameter of the query has no meaning',
    example: { msg: 'unknown key', type: 'unknown_key', loc: ['query', 'colour'] },
  },
  badAppChange: {
    status: 422,
    when: 'a value cannot be; for example an instance type that does not exist, a variable of the platform, or the mask of a value that the app does not have',
    example: {
      msg: 'there is no such instance type, only small, large',
      type: 'invalid',
      loc: body('instanceType'),
    },
  },
  nobodyNamed: {
    status: 422,
    when: 'neither `user` nor `app` is given',
    example: { msg: 'user, app or both are required', type: 'missing', loc: ['query'] },
  },
  noContainer: {
    status: 404,
    when: 'there is no container of this uuid that the caller may see',
    example: { msg: 'there is no container of this uuid', type: 'unknown_container', loc: ['path', 'uuid'] },
  },
  badContainerId: {
    status: 422,
    when: 'the uuid in the path cannot be that of a container',
    example: { msg: 'is not the uuid of a container', type: 'invalid', loc: ['path', 'uuid'] },
  },
  badContainer: {
    status: 422,
    when: 'a value cannot be; for example a command of more than 131,071 bytes, a mount at a relative path, or a variable that is both plain and secret',
    example: { msg: 'is not an absolute path', type: 'invalid', loc: body('cwd') },
  },
  badPriority: {
    status: 422,
    when: 'the priority is not a whole number from 0 to 1000',
    example: { msg: 'Too big: expected number to be <=1000', type: 'invalid', loc: body('priority') },
  },
  noTypeFits: {
    status: 422,
    when: 'no type of machine fits; the text names all types, and what each of them lacks',
    example: {
      msg: 'No type of machine fits. m6i.large: 2 of 64 VCPUs',
      type: 'no_instance_type',
      loc: body('runtime_constraints'),
    },
  },
  otherTenant: {
    status: 422,
    when: 'the caller is not in the tenant that is named',
    example: { msg: 'is not a tenant that you are in', type: 'not_member', loc: body('tenant') },
  },
  whichTenant: {
    status: 422,
    when: 'the caller is in more than one tenant, and names none; the text names his',
    example: {
      msg: 'is missing, and you are in more than one tenant: physics, biology',
      type: 'missing',
      loc: body('tenant'),
    },
  },
  longContainer: {
    status: 422,
    when: 'the container is larger than a runner takes',
    example: { msg: 'is larger than 524288 bytes as JSON', type: 'too_long', loc: body() },
  },
  otherBody: {
    status: 422,
    when: 'the Idempotency-Key was used with another body, or is too long',
    example: {
      msg: 'The Idempotency-Key was used with another body',
      type: 'invalid',
      loc: ['header', 'idempotency-key'],
    },
  },
  containerEnded: {
    status: 409,
    when: 'the container has ended',
    example: { msg: 'the container has ended', type: 'container_ended' },
  },
  containerDropped: {
    status: 410,
    when: 'the container of this Idempotency-Key has ended, and is not kept any more',
    example: {
      msg: 'The container of this Idempotency-Key has ended, and is not kept any more',
      type: 'container_dropped',
      loc: ['header', 'idempotency-key'],
    },
  },
  outputDropped: {
    status: 410,
    when: 'the container has ended, and its output is not kept any more',
    example: { msg: 'the output of this container is not kept any more', type: 'output_dropped' },
  },
  containerOver: {
    status: 410,
    when: 'the container has ended',
    example: { msg: 'the container has ended', type: 'container_ended' },
  },
  shellOff: {
    status: 403,
    when: 'shells and ports are switched off for this caller',
    example: {
      msg: 'shells and ports are switched off: dispatch.Containers.ShellAccess.User',
      type: 'shell_off',
    },
  },
  notRunning: {
    status: 503,
    when: 'the container does not run yet, or its machine has no gateway for it',
    example: { msg: 'the container does not run yet', type: 'not_running' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  shellOnly: {
    status: 426,
    when: 'the request does not ask for SSH',
    example: { msg: 'a shell needs `Upgrade: ssh`', type: 'malformed', loc: ['header', 'upgrade'] },
    headers: { Upgrade: upgradeHeader },
  },
  badPort: {
    status: 422,
    when: 'the port in the path is not a number from 1 to 65535',
    example: { msg: 'is not a number from 1 to 65535', type: 'invalid', loc: ['path', 'port'] },
  },
  tooManyTunnels: {
    status: 429,
    when: 'the caller has `dispatch.tunnels.perUser` open at this replica',
    example: { msg: 'too many tunnels at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  crowdedTunnels: {
    status: 503,
    when: 'this replica has `dispatch.tunnels.perReplica` open, or ends',
    example: { msg: 'this replica has too many tunnels', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  unreached: {
    status: 502,
    when: 'nothing listens on the port, its machine cannot be reached, or what answers is not the container’s',
    example: { msg: 'nothing listens on port 8080', type: 'unreachable' },
  },
  silentContainer: {
    status: 504,
    when: 'the program in the container did not answer within a minute',
    example: { msg: 'the container did not answer in time', type: 'unreachable' },
  },
  unframedBody: {
    status: 501,
    when: 'the body has a transfer coding other than `chunked`',
    example: {
      msg: 'the body has a coding that cannot be carried',
      type: 'malformed',
      loc: ['header', 'transfer-encoding'],
    },
  },
  changedOften: {
    status: 429,
    when: 'the container has 1,000 events: its priority can only become 0',
    example: {
      msg: 'the priority of this container was changed as often as may be: it can only become 0',
      type: 'too_many',
    },
    headers: { 'Retry-After': retryAfterHeader },
  },
  queueFull: {
    status: 429,
    when: 'as many containers of the owner wait as may: 1,000; or those that wait or run have as many bytes as may be',
    example: { msg: 'as many of your containers wait as may', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  crowdedQueue: {
    status: 503,
    when: 'as many containers wait as may: 100,000; or those that wait or run have as many bytes as may be; or this replica lacks the key that seals them now',
    example: { msg: 'as many containers wait as may', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  noManagementToken: {
    status: 401,
    when: 'no token was sent',
    example: { msg: 'the management token is required', type: 'unauthorized', loc: ['header', 'authorization'] },
    headers: { 'WWW-Authenticate': authenticateHeader },
  },
  wrongManagementToken: {
    status: 403,
    when: 'the token is not that of operators, or the site has none',
    example: { msg: 'this is not the management token', type: 'forbidden', loc: ['header', 'authorization'] },
  },
  noQueuedContainer: {
    status: 404,
    when: 'there is no container of this uuid that has not ended',
    example: {
      msg: 'there is no container of this uuid',
      type: 'unknown_container',
      loc: ['query', 'container_uuid'],
    },
  },
  noMachine: {
    status: 404,
    when: 'there is no such instance',
    example: { msg: 'there is no such instance', type: 'unknown_instance', loc: ['query', 'instance_id'] },
  },
  machineEnds: {
    status: 409,
    when: 'the instance is being shut down, which is never taken back',
    example: { msg: 'the instance is being shut down', type: 'instance_ending' },
  },
  tooManyLarge: {
    status: 429,
    when: 'the caller takes as many large answers at once as may',
    example: { msg: 'too many large answers at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  crowdedLarge: {
    status: 503,
    when: 'the replica sends as many large answers at once as it can',
    example: { msg: 'this replica has too many large answers at once', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  noParameter: {
    status: 400,
    when: 'a parameter is missing',
    example: { msg: 'instance_id parameter not provided', type: 'missing', loc: ['query', 'instance_id'] },
  },
  otherIngress: {
    status: 403,
    when: 'behind Gafaelfawr, the request came through another ingress than that of labs',
    example: {
      msg: 'the ingress that sent this request is not that of labs',
      type: 'scope_missing',
      loc: ['header', 'x-skylab-ingress-secret'],
    },
  },
  keepAliveOff: {
    status: 403,
    when: 'the rule of the workload grants no keep-alive, or no rule ever stops it',
    example: { msg: 'its rule grants no keep-alive', type: 'keep_alive_off' },
  },
  noWorkload: {
    status: 404,
    when: 'nothing of this name runs that the caller may see',
    example: { msg: 'nothing of this name runs', type: 'unknown_workload' },
  },
  isStopping: {
    status: 409,
    when: 'it is being stopped; nothing calls that off',
    example: { msg: 'it is being stopped', type: 'stopping' },
  },
  badWorkloadName: {
    status: 422,
    when: 'the name in the path cannot be the name of a workload of this kind',
    example: { msg: 'is not the name of a namespace', type: 'invalid', loc: ['path', 'namespace'] },
  },
  badSeconds: {
    status: 422,
    when: 'the time is not a whole number of seconds from 1 to 31,536,000',
    example: { msg: 'Too small: expected number to be >=1', type: 'invalid', loc: body('seconds') },
  },
  noSuchRoute: { status: 404, when: 'no route has this path', example: { msg: 'no such route', type: 'not_found' } },
  noLab: {
    status: 404,
    when: 'the user has no lab',
    example: { msg: 'this user has no lab', type: 'unknown_user', loc: username },
  },
  noOwnLab: {
    status: 404,
    when: 'the caller has no lab',
    example: { msg: 'this user has no lab', type: 'unknown_user' },
  },
  noEvents: {
    status: 404,
    when: 'the user has no lab, and had none in the last ten minutes',
    example: { msg: 'this user has no events', type: 'unknown_user', loc: username },
  },
  methodNotAllowed: {
    status: 405,
    when: 'the route does not have this method',
    example: { msg: 'method not allowed', type: 'method_not_allowed' },
    headers: { Allow: allowHeader },
  },
  slowRequest: {
    status: 408,
    when: 'the request took too long to arrive',
    example: { msg: 'the request took too long to arrive', type: 'malformed' },
    nameless: true,
  },
  cutBody: {
    status: 408,
    when: 'the body did not arrive',
    example: { msg: 'the body did not arrive', type: 'malformed', loc: body() },
  },
  labExists: {
    status: 409,
    when: 'the user has a lab that is pending or running',
    example: { msg: 'A lab for ada exists', type: 'lab_exists' },
  },
  labTerminating: {
    status: 409,
    when: 'the lab of the user is being deleted; after the deletion the same request is accepted',
    example: { msg: 'A lab for ada exists; it is being deleted', type: 'lab_terminating' },
  },
  largeBody: {
    status: 413,
    when: 'the body is larger than `api.limits.maxBodyBytes`',
    example: { msg: 'the body is too large', type: 'too_large', loc: body() },
  },
  longTarget: {
    status: 414,
    when: 'path and query are longer than `api.limits.maxTargetBytes`',
    example: { msg: 'the path is too long', type: 'malformed', loc: ['path'] },
  },
  notJson: {
    status: 415,
    when: 'the Content-Type is not JSON in UTF-8, or the body is compressed',
    example: { msg: 'the body must be application/json', type: 'not_json', loc: ['header', 'content-type'] },
  },
  badExpectation: {
    status: 417,
    when: 'Expect is anything but 100-continue',
    example: { msg: 'only 100-continue can be expected', type: 'malformed', loc: ['header', 'expect'] },
    nameless: true,
  },
  badName: {
    status: 422,
    when: 'the name in the path cannot be the name of a user',
    example: { msg: 'The user name contains ":" or "/"', type: 'invalid', loc: username },
  },
  badOwnName: {
    status: 422,
    when: 'the caller’s own name cannot be the name of a user here',
    example: { msg: 'The user name contains ":" or "/"', type: 'invalid' },
  },
  badField: {
    status: 422,
    when: 'a value is not accepted: for example a size or an image that does not exist, or an Idempotency-Key that was sent with another body',
    example: {
      msg: 'There is no such size, only small, medium, large',
      type: 'invalid',
      loc: body('options', 'size'),
    },
  },
  missingField: {
    status: 422,
    when: 'a required key is missing',
    example: { msg: 'is required', type: 'missing', loc: body('options') },
  },
  unknownField: {
    status: 422,
    when: 'a key has no meaning',
    example: { msg: 'unknown key', type: 'unknown_key', loc: body('options', 'colour') },
  },
  longField: {
    status: 422,
    when: 'a value is longer, or an object has more entries, than `api.limits` permit',
    example: { msg: 'has more than 512 variables', type: 'too_long', loc: body('env') },
  },
  repeatedField: {
    status: 422,
    when: 'an object has the same key twice',
    example: { msg: 'the key is repeated', type: 'duplicate_key', loc: body('options', 'size') },
  },
  muchBody: {
    status: 422,
    when: 'the body has more properties and elements than `api.limits.maxJsonItems`',
    example: { msg: 'the body has more than 1024 properties and elements', type: 'too_large', loc: body() },
  },
  deepBody: {
    status: 422,
    when: 'the body is deeper than `api.limits.maxJsonDepth`',
    example: { msg: 'the body has more than 8 objects and lists within each other', type: 'too_deep', loc: body() },
  },
  tooManyUnanswered: {
    status: 429,
    when: 'the connection has too many requests that are not answered yet',
    example: { msg: 'too many requests at once on one connection', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
    nameless: true,
  },
  tooMany: {
    status: 429,
    when: 'the user has as many requests at once as `api.limits` permit',
    example: { msg: 'too many requests at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  tooManyBodies: {
    status: 429,
    when: 'the user is sending as many bodies at once as `api.limits` permit',
    example: { msg: 'too many bodies at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  tooManyStreams: {
    status: 429,
    when: 'the user has as many event streams open as `api.limits` permit',
    example: { msg: 'too many event streams at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  tooOften: {
    status: 429,
    when: 'the user has asked more often than `api.rates` permit; after `Retry-After` there is room for one request again',
    example: { msg: 'too many reads in a short time', type: 'too_often' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  tooOftenByAll: {
    status: 429,
    when: 'all clients together have asked more often than `api.rates` permit; after `Retry-After` there is room for one request again',
    example: { msg: 'too many documents in a short time', type: 'too_often' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  largeHead: {
    status: 431,
    when: 'the headers are too large',
    example: { msg: 'the headers are too large', type: 'malformed' },
    nameless: true,
  },
  manyHeaders: {
    status: 431,
    when: 'there are too many headers',
    example: { msg: 'there are too many headers', type: 'malformed', loc: ['header'] },
  },
  internal: {
    status: 500,
    when: 'the server has a defect; its log has the error under the id of the request',
    example: { msg: 'internal error', type: 'internal' },
  },
  misconfigured: {
    status: 500,
    when: 'a Secret or ConfigMap that the configuration gives to every lab is missing, incomplete or too large: nothing was accepted, and an administrator has to correct it',
    example: { msg: 'The Secret lab-secrets in the namespace skylab has no key db-password', type: 'misconfigured' },
  },
  busy: {
    status: 503,
    when: 'the replica has as many connections as it takes',
    example: { msg: 'this replica has too many connections', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
    nameless: true,
  },
  crowded: {
    status: 503,
    when: 'the replica has as many requests at once as it takes',
    example: { msg: 'this replica has too many requests at once', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  crowdedBodies: {
    status: 503,
    when: 'the replica is reading as many bytes of bodies at once as it takes',
    example: { msg: 'this replica has too many bytes of bodies at once', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  crowdedStreams: {
    status: 503,
    when: 'the replica has as many event streams open as it takes',
    example: { msg: 'this replica has too many event streams at once', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  unavailable: {
    status: 503,
    when: 'Redis, Kubernetes or the source of identities does not answer, records are being compared with the cluster, or the registry was not read yet',
    example: { msg: 'the records are being compared with the cluster', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
} as const satisfies Record<string, Problem>
