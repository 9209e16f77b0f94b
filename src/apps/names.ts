/** The names of an app's objects (seed 001, "Controller"). Pure. */

/** The Deployment, the Service and `status.serviceName` of an app. */
export const appObjectName = (id: string): string => `app-${id}`

/** The prefix of an app on the platform's own origin (seed 001, "PRIMEHUB_APP_BASE_URL"). */
export const appPrefix = (id: string): string => `/console/apps/${id}`
