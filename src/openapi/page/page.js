'use strict'
/**
 * The page of the documentation: loads the document, asks for a token if one is needed, and starts Swagger UI with a filter.
 */
const scriptAddress = document.currentScript.src
const version = new URLSearchParams(location.search).get('version')
// The compact form is a fraction of the exact one. `expandFilters` adds the operators to the operation that is opened.
const documentQuery = new URLSearchParams({
  filters: 'compact',
  ...(version !== null && { version }),
})
const documentAddress = `${new URL('openapi.json', scriptAddress).href}?${documentQuery}`

/** Groups are open if at most this many operations are shown. */
const maxOpenOperations = 30

const darkScheme = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () =>
  document.documentElement.classList.toggle('dark-mode', darkScheme.matches)
darkScheme.addEventListener('change', followScheme)
followScheme()

// The token is stored for this tab only: no other tab can read it, and it is gone when the tab is closed.
const storageKey = 'filigree ' + documentAddress

function readStored() {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey)) ?? {}
  } catch {
    return {}
  }
}

function store(changes) {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify({ ...readStored(), ...changes }))
  } catch {
    // The browser allows no storage. The page works without it.
  }
}

/** A plugin that stores what the dialog "Authorize" sets, and forgets all tokens with "Logout". */
const tokenStorage = {
  statePlugins: {
    auth: {
      wrapActions: {
        persistAuthorizationIfNeeded: (original, system) => () => {
          const authorized = system.authSelectors.authorized().toJS()
          const isEmpty = Object.keys(authorized).length === 0
          store(isEmpty ? { authorized: undefined, token: undefined } : { authorized })
        },
      },
    },
  },
}

/** Keeps the operations that contain each word of the text, in their group, method, path, id or summary. */
function filterOperations(groups, text) {
  const searchTerms = text.toLowerCase().split(/\s+/).filter(Boolean)
  return groups
    .map((group, name) =>
      group.set(
        'operations',
        group.get('operations').filter((entry) => {
          const operation = entry.get('operation')
          const parts = [
            ...[name, entry.get('method'), entry.get('path')],
            ...[operation.get('operationId'), operation.get('summary')],
          ]
          const content = parts.join(' ').toLowerCase()
          return searchTerms.every((term) => content.includes(term))
        }),
      ),
    )
    .filter((group) => group.get('operations').size > 0)
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']

const schemaAddress = '#/components/schemas/'
/** References inside references are replaced this often. Then a schema is shown by its name and type only. */
const maxReferences = 3

/**
 * A plugin that completes the part that is opened: its references and the operators of its filters. The resolver of Swagger UI
 * resolves the whole document first, which takes seconds for a large one.
 */
function subtreePlugin(document) {
  const valueAt = (keys) => keys.reduce((value, key) => value?.[key], document)
  const targetOf = (reference) => {
    const keys = reference.slice(2).split('/')
    return valueAt(
      keys.map((key) => decodeURIComponent(key).replace(/~1/g, '/').replace(/~0/g, '~')),
    )
  }
  const resolve = (value, references = []) => {
    if (Array.isArray(value)) return value.map((item) => resolve(item, references))
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...siblings } = value
    if (typeof $ref !== 'string' || !$ref.startsWith('#/'))
      return Object.fromEntries(
        Object.entries(value).map(([key, part]) => [key, resolve(part, references)]),
      )
    const target = targetOf($ref) ?? {}
    const isSchema = $ref.startsWith(schemaAddress)
    const title = isSchema ? { title: $ref.slice(schemaAddress.length) } : {}
    if (references.length >= maxReferences || references.includes($ref))
      return { ...title, ...(isSchema && { type: target.type }), ...siblings }
    return { ...title, ...resolve(target, [...references, $ref]), ...siblings }
  }
  return {
    fn: {
      resolveSubtree: async (_, keys) => {
        const subtree = resolve(valueAt(keys))
        const isOperation = keys[0] === 'paths'
        const spec = isOperation ? expandFilters(subtree, document['x-operators']) : subtree
        return { spec, errors: [] }
      },
    },
    statePlugins: {
      // Swagger UI reads the text of a document as YAML, which takes seconds for a large one.
      spec: {
        wrapActions: {
          parseToJson:
            (_, { specActions }) =>
            () =>
              specActions.updateJsonSpec(outline(document)),
        },
      },
    },
  }
}

/** The parts of an operation that the list of operations shows. */
const outlineKeys = ['tags', 'summary', 'operationId', 'deprecated', 'security', 'servers']

/** The document without the contents of its operations, which are added when an operation is opened. */
function outline(document) {
  const pick = (operation) =>
    Object.fromEntries(
      outlineKeys.filter((key) => key in operation).map((key) => [key, operation[key]]),
    )
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([name, part]) => [
        name,
        methods.includes(name) ? pick(part) : part,
      ]),
    ),
  ])
  return { ...document, paths: Object.fromEntries(paths) }
}

const count = (groups) => groups.reduce((sum, group) => sum + group.get('operations').size, 0)

/** A plugin with a search field above the operations. Groups are closed while many operations are shown. */
function filterPlugin(total) {
  let matches = total
  return ({ React: { createElement } }) => {
    const readText = (layoutSelectors) => {
      const text = layoutSelectors.currentFilter()
      return typeof text === 'string' ? text : ''
    }
    const Filter = ({ layoutSelectors, layoutActions, specSelectors }) => {
      const text = readText(layoutSelectors)
      const matching = count(specSelectors.taggedOperations())
      return createElement(
        'search',
        { className: 'filter-container wrapper' },
        createElement('label', { htmlFor: 'filter' }, 'Filter'),
        createElement('input', {
          id: 'filter',
          type: 'search',
          className: 'operation-filter-input',
          placeholder: 'Path, method, summary or group',
          autoComplete: 'off',
          value: text,
          onChange: ({ target }) => layoutActions.updateFilter(target.value),
        }),
        createElement(
          'p',
          { role: 'status' },
          text === '' ? `${total} operations` : `${matching} of ${total} operations`,
        ),
      )
    }
    const operations = (Original) => (props) =>
      readText(props.layoutSelectors) !== '' && props.specSelectors.taggedOperations().size === 0
        ? createElement('p', { className: 'wrapper' }, 'No operation matches the filter.')
        : createElement(Original, props)
    return {
      components: {
        FilterContainer: Filter,
        // Not a link, because a button contains it. The address still changes when an operation is opened.
        DeepLink: ({ text }) => createElement('span', null, text),
      },
      wrapComponents: { operations },
      fn: {
        opsFilter: (groups, text) => {
          const filtered = filterOperations(groups, text)
          matches = count(filtered)
          return filtered
        },
      },
      statePlugins: {
        layout: {
          wrapSelectors: {
            // `original` is bound to the state.
            isShown: (original) => (state, thing, byDefault) => {
              const isGroup = Array.isArray(thing) && thing[0] === 'operations-tag'
              if (!isGroup) return original(thing, byDefault)
              const visibleCount = state.get('filter') ? matches : total
              return original(thing, visibleCount <= maxOpenOperations)
            },
          },
        },
      },
    }
  }
}

/** Adds the names and the keyboard access that elements of Swagger UI lack. */
function improveAccessibility(root) {
  root.querySelector('#servers')?.setAttribute('aria-label', 'Server')
  root.querySelector('.close-modal')?.setAttribute('aria-label', 'Close')
  for (const button of root.querySelectorAll('.modal-btn')) button.removeAttribute('aria-label')
  for (const block of root.querySelectorAll('pre')) block.tabIndex = 0
}

function countOperations({ paths = {} }) {
  const names = Object.values(paths).flatMap((item) => Object.keys(item))
  return names.filter((name) => methods.includes(name)).length
}

/** @param token the token that opened the document, if one was needed */
function show(spec, token) {
  document.title = spec.info.title
  const total = countOperations(spec)
  const ui = SwaggerUIBundle({
    // Not the document itself, of which Swagger UI would make a text: `subtreePlugin` gives it.
    spec: { openapi: spec.openapi },
    dom_id: '#swagger-ui',
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [
      tokenStorage,
      filterPlugin(total),
      filtersPlugin,
      uploadsPlugin,
      () => subtreePlugin(spec),
    ],
    layout: 'BaseLayout',
    filter: '',
    // The list of schemas is closed too if there are many.
    defaultModelsExpandDepth: total > maxOpenOperations ? 0 : 1,
    deepLinking: true,
    displayRequestDuration: true,
    queryConfigEnabled: false,
    validatorUrl: null,
    // Deferred, because it may be called before the constructor has returned.
    onComplete: () =>
      setTimeout(() => {
        const { authorized } = readStored()
        if (authorized !== undefined) ui.authActions.restoreAuthorization({ authorized })
        else if (token !== undefined) ui.preauthorizeApiKey('bearerAuth', token)
      }),
  })
}

const root = document.getElementById('swagger-ui')
new MutationObserver(() => improveAccessibility(root)).observe(root, {
  childList: true,
  subtree: true,
})

const form = document.getElementById('token')
const input = document.getElementById('token-text')
const error = document.getElementById('token-error')

// This script is the first one, so that the server makes the document while the browser loads Swagger UI.
const otherScripts = new Promise((resolve) =>
  document.addEventListener('DOMContentLoaded', resolve, { once: true }),
)

/** @returns whether the document was opened */
async function open(token) {
  const headers = token === undefined ? {} : { Authorization: 'Bearer ' + token }
  const response = await fetch(documentAddress, { headers })
  if (!response.ok) return false
  form.hidden = true
  const spec = await response.json()
  await otherScripts
  show(spec, token)
  return true
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (await open(input.value)) store({ token: input.value })
  else error.textContent = 'This token is not accepted.'
})

async function start() {
  const { token } = readStored()
  if ((token !== undefined && (await open(token))) || (await open())) return
  store({ token: undefined, authorized: undefined })
  form.hidden = false
  input.focus()
}

start()
