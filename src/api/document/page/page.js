// Shows the document that stands beside the page. Nothing is asked of any other host.
window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  // By default documents of hosts other than localhost are sent to a validator out there.
  validatorUrl: null,
})
