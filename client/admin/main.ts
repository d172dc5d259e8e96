/** The entry of the admin page: signs the user in and opens the view of the URL. */
import {
  api,
  base,
  request,
  useStoredToken,
  hasStoredToken,
  onSessionEnd,
  statusOf,
} from './requests.js'
import { showOwnPage } from './components.js'
import { el, listen } from './element.js'
import { showError } from './notices.js'
import { showHistory } from './history.js'
import { confirmLeave, followLinks, currentLocation, onRoute, replacePath } from './navigation.js'
import { showList } from './list.js'
import { showCopy, showNew } from './form.js'
import { showRow } from './row.js'
import {
  setSchema,
  may,
  expandSchema,
  hasKey,
  recordAt,
  schema,
  type CompactSchema,
} from './schema.js'
import { endSignIn, showSignIn, signInAgain } from './sign-in.js'
import { clearTitles } from './titles.js'
import { showStart } from './start.js'
import { translate } from './translate.js'
import { closeView, onJump, onSignOut, openView } from './view.js'

/** Opens the view of the current URL. */
async function draw(): Promise<void> {
  if (schema() === undefined) return
  clearTitles()
  const { parts, query } = currentLocation()
  const [path, second, third] = parts
  if (path === undefined) {
    showStart()
    return
  }
  const ownPage = schema()?.pages?.find((page) => page.path === path)
  if (ownPage !== undefined && second === undefined) {
    await showOwnPage(ownPage)
    return
  }
  const record = recordAt(path)
  const isCopy =
    parts.length === 3 && third === 'copy' && record !== undefined && may(record, 'create')
  if (record === undefined || (parts.length > 2 && !isCopy)) showNothing()
  else if (second === undefined) await showList(record, query)
  else if (isCopy) await showCopy(record, second)
  else if (second === 'new' && may(record, 'create')) showNew(record, query)
  else if (second === 'import' && (may(record, 'create') || may(record, 'update')))
    await openLater(
      () => import('./csv-import.js'),
      ({ showImport }) => {
        showImport(record)
      },
    )
  else if (second === 'bin' && record.bin === true)
    await openLater(
      () => import('./bin.js'),
      ({ showBin }) => showBin(record),
    )
  else if (second === 'figures')
    await openLater(
      () => import('./chart.js'),
      ({ showChart }) => showChart(record, query),
    )
  else if (second === 'history' && record.history === true) await showHistory(record, query)
  else if (hasKey(record)) await showRow(record, second)
  else showNothing()
}

function showNothing(): void {
  openView(undefined, translate('notFound')).show(el('p', {}, translate('nothingHere')))
}

/** Opens a view whose module is loaded now, unless the user has opened another view meanwhile. */
async function openLater<Module>(
  load: () => Promise<Module>,
  open: (module: Module) => void | Promise<void>,
): Promise<void> {
  const { href } = location
  const module = await load()
  if (location.href === href) await open(module)
}

const drawSafely = (): void => {
  draw().catch(showError)
}

const readSchema = async (): Promise<void> => {
  const { data } = await request<CompactSchema>('GET', api('schema'), { open: true })
  setSchema(expandSchema(data))
}

/**
 * Loads the schema, or shows the sign-in if the server requires it.
 *
 * @param token the token of a new sign-in. It is stored only if the cookie alone is not accepted.
 */
async function signIn(token: string | boolean = hasStoredToken()): Promise<void> {
  const storedToken = token === '' ? false : token
  try {
    // A 401 would be an error in the console, so the token is stored first unless there is a cookie.
    const isStored = typeof storedToken === 'string' && !(await hasCookie())
    useStoredToken(isStored ? storedToken : storedToken === true)
    await readSchema().catch((error: unknown) => {
      if (statusOf(error) !== 401 || storedToken === false) throw error
      useStoredToken(typeof storedToken === 'string' ? storedToken : false)
      return readSchema()
    })
  } catch (error) {
    const status = statusOf(error)
    if (status !== 401 && status !== 403) throw error
    const message = status === 403 ? translate('mayNotUse') : ''
    await showSignIn(signIn, message)
    return
  }
  document.body.replaceChildren()
  drawSafely()
}

/** Whether the browser has a cookie that may be the one of a sign-in. Scripts cannot read it, but the page says so. */
async function hasCookie(): Promise<boolean> {
  const page = await fetch(base, { cache: 'no-store' })
  return (await page.text()).includes('data-may-be-signed-in')
}

async function signOut(): Promise<void> {
  if (!(await confirmLeave())) return
  await endSignIn()
  closeView()
  setSchema(undefined)
  clearTitles()
  document.body.replaceChildren()
  await showSignIn(signIn, translate('signedOut'))
}

/** Opens the dialog that leads to lists, pages and rows, unless another one is open. */
async function jump(): Promise<void> {
  if (schema() === undefined || document.querySelector('dialog') !== null) return
  const { openJump } = await import('./jump.js')
  openJump()
}

onRoute(drawSafely)
onJump(jump)
listen(document, 'keydown', async (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event as KeyboardEvent
  if (key.toLowerCase() !== 'k' || ctrlKey === metaKey || altKey || shiftKey) return
  event.preventDefault()
  await jump()
})
onSessionEnd(signInAgain)
onSignOut(signOut)
followLinks()
// A page restored from the browser's cache may show data of another user.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload()
})
/** A provider at which the user declined leads back with a parameter, which the list would read as a filter. */
function takeRefusal(): string {
  const { pathname, search } = location
  const query = new URLSearchParams(search)
  if (query.get('error') !== 'access_denied') return ''
  query.delete('error')
  replacePath(query.size === 0 ? pathname : `${pathname}?${query.toString()}`)
  return translate('providerCancelled')
}

const refusal = takeRefusal()
// Without a token or cookie, the request for the schema would be a 401 in the console.
const mayBeSignedIn = hasStoredToken() || document.body.dataset.mayBeSignedIn !== undefined
;(mayBeSignedIn ? signIn() : showSignIn(signIn, refusal)).catch((error: unknown) => {
  document.body.replaceChildren(el('main', { class: 'notices' }))
  showError(error)
})
