/** The view of the routes: who may call them, and a form that tries each route as any caller. */
import { empty, getJson, h, json, postJson, section, show, took, tone } from './elements.js'

export async function drawRoutes() {
  const routes = await getJson('/routes')
  const list = h('div', {}, routes.map(drawRoute))
  const search = h('input', {
    type: 'search',
    oninput: () => {
      const filterText = search.value.toLowerCase()
      for (const [index, entry] of [...list.children].entries()) {
        const { method, path, name, words } = routes[index]
        entry.hidden = !`${method} ${path} ${name} ${words}`.toLowerCase().includes(filterText)
      }
    },
  })
  show(
    section('Routes', h('div', { class: 'tools' }, h('label', {}, 'Filter', search)), list),
    true,
  )
}

function drawRoute(route) {
  const details = h(
    'details',
    { class: 'route' },
    h(
      'summary',
      {},
      h('b', {}, route.method),
      h('span', {}, route.path),
      h('span', { class: 'quiet' }, route.name),
      h('span', { class: 'who' }, route.words),
    ),
  )
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(drawForm(route))
  })
  return details
}

let claims = '{ "sub": "1" }'

function drawForm(route) {
  const parameters = route.parameters.map(({ name, type }) => [
    name,
    h('input', { name, required: true, value: /int|float/.test(type) ? '1' : undefined }),
  ])
  const query = h('input', {
    name: 'query',
    placeholder: route.query.map((name) => `${name}=`).join('&'),
  })
  const body =
    route.body === undefined
      ? undefined
      : h('textarea', { name: 'body', spellcheck: 'false' }, JSON.stringify(route.body, null, 2))
  const caller = h(
    'select',
    {},
    h('option', { value: '' }, 'no token'),
    h('option', { value: 'token' }, 'a token with these claims'),
  )
  const claimsInput = h('input', { value: claims, spellcheck: 'false' })
  if (route.access !== 'everybody') caller.value = 'token'
  const claimsLabel = h('label', {}, 'Claims of the token', claimsInput)
  const showClaims = () => {
    claimsLabel.hidden = caller.value === ''
  }
  caller.addEventListener('change', showClaims)
  showClaims()
  const result = h('div', { role: 'status' })
  const send = async (event) => {
    event.preventDefault()
    result.replaceChildren('…')
    try {
      result.replaceChildren(
        ...(await tryRoute(route, { parameters, query, body, caller, claimsInput })),
      )
    } catch (error) {
      result.replaceChildren(h('p', { class: 'bad' }, error.message))
    }
  }
  return h(
    'form',
    { onsubmit: send },
    parameters.map(([name, input]) => h('label', {}, name, input)),
    route.method === 'GET' || route.query.length > 0 ? h('label', {}, 'Query', query) : undefined,
    body === undefined ? undefined : h('label', {}, 'Body (JSON)', body),
    h('label', {}, 'Sent by', caller),
    claimsLabel,
    h('button', {}, 'Send'),
    result,
  )
}

async function tryRoute({ method, path }, { parameters, query, body, caller, claimsInput }) {
  const headers = {}
  if (caller.value === 'token') {
    claims = claimsInput.value
    const { token } = await postJson('/token', { claims: JSON.parse(claimsInput.value) })
    headers.authorization = `Bearer ${token}`
  }
  let target = path
  for (const [name, input] of parameters) {
    const value = encodeURIComponent(input.value)
    target = target.replace(
      new RegExp(`[<{]${name}(?::\\w+)?[>}]`),
      /:path/.test(target) ? value.replaceAll('%2F', '/') : value,
    )
  }
  if (query.value !== '') target += `?${query.value.replace(/^\?/, '')}`
  if (body !== undefined && body.value.trim() !== '') headers['content-type'] = 'application/json'
  const startTime = performance.now()
  const response = await fetch(target, {
    method,
    headers,
    body: body?.value.trim() || undefined,
    redirect: 'manual',
  })
  const text = await response.text()
  let value = text
  try {
    value = JSON.parse(text)
  } catch {
    // The text is not JSON.
  }
  const last = (await getJson('/requests')).at(-1)
  return [
    h(
      'p',
      {},
      h('b', { class: tone(response.status) }, String(response.status || 'redirected')),
      ` in ${took(performance.now() - startTime)} `,
      last === undefined ? '' : h('a', { href: `#requests/${last.number}` }, 'what happened'),
    ),
    text === '' ? empty('No body.') : json(value),
  ]
}
