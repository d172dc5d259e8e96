/** The login: the form, passkeys, the token's line, and logging out, in this tab or another. */
import { clearFaults, showFaults } from './faults.js'
import { api } from './server.js'

const key = 'app_token'
const form = document.getElementById('login')
const session = document.getElementById('session')
const title = document.getElementById('session-title')
const line = document.getElementById('token')
const said = document.getElementById('passkey-said')
const passkeyButtons = ['passkey-login', 'passkey-add'].map((id) => document.getElementById(id))
const statistics = document.getElementById('statistics')
const writers = document.querySelectorAll('[data-writers]')

let renewals = 0
let renewal = 0

/** Continues with the login that the browser's storage still contains, if any. */
export function startSession() {
  form.addEventListener('submit', login)
  document.getElementById('logout').addEventListener('click', () => {
    logout()
    title.focus()
  })
  const [loginByPasskey, addPasskey] = passkeyButtons
  for (const button of passkeyButtons) button.hidden = !api.passkeys.supported
  loginByPasskey.addEventListener('click', enterByPasskey)
  addPasskey.addEventListener('click', keepPasskey)
  // Events of other tabs, which share the storage.
  window.addEventListener('storage', (event) => {
    if (event.key === key || event.key === null) void resume()
  })
  api.intercept('response', ({ status, headers }) => {
    if (headers.get('FreshToken') !== null) {
      renewals++
      showToken()
    }
    // The login's own 401 means a wrong password.
    if (status === 401 && !session.hidden) logout('Your login has ended. Log in again.')
  })
  void resume()
}

/** Counts the records, for administrators. */
export async function showStatistics() {
  if (session.hidden || session.dataset.admin !== 'true') return
  try {
    const { countries, cities } = await api.get('/admin/statistics')
    statistics.textContent = `${countries} countries, ${cities.toLocaleString('en')} cities.`
    statistics.hidden = false
  } catch {
    statistics.hidden = true
  }
}

async function login(event) {
  event.preventDefault()
  clearFaults(form)
  const { name, password } = Object.fromEntries(new FormData(form))
  try {
    const user = await api.post('/login', { name, password })
    form.reset()
    renewals = 0
    enter(user)
    title.focus()
  } catch (error) {
    showFaults(form, error)
  }
}

/** The browser offers the passkeys that it has for this page, so the user types no name. */
async function enterByPasskey() {
  clearFaults(form)
  try {
    await api.passkeys.signIn()
    renewals = 0
    enter(await api.get('/me'))
    title.focus()
  } catch (error) {
    // The browser's own errors have no status: there is no passkey, or the user has cancelled.
    if (error.status !== undefined) showFaults(form, error)
    else form.querySelector('.fault').textContent = 'No passkey was used.'
  }
}

/** From now on this device logs in without the password. */
async function keepPasskey() {
  said.hidden = false
  said.textContent = ''
  try {
    await api.passkeys.register({ name: navigator.platform })
    const { length } = await api.passkeys.list()
    said.textContent = `This device keeps a passkey. You have ${length}.`
  } catch (error) {
    // Its name says that this device has one already.
    const has = error.name === 'InvalidStateError'
    said.textContent = has ? 'This device has a passkey already.' : 'No passkey was added.'
  }
}

async function resume() {
  if (readToken() === null) {
    if (!session.hidden) logout()
    return
  }
  try {
    enter(await api.get('/me'))
  } catch (error) {
    // If the server cannot be reached, the token may still be valid.
    if (error.status === 401 && readToken() !== null) logout()
  }
}

function enter({ name, roles }) {
  title.textContent = `Logged in as ${name}`
  session.dataset.admin = String(roles.includes('admin'))
  show(true)
  showToken()
  void showStatistics()
}

/** The client reads the storage for each request: without the token, it is logged out. */
function logout(reason = '') {
  try {
    localStorage.removeItem(key)
  } catch {
    // A blocked storage keeps no token either; the client's own memory ends with the page.
  }
  clearTimeout(renewal)
  title.textContent = 'Log in'
  form.querySelector('.fault').textContent = reason
  show(false)
}

function show(inside) {
  form.hidden = inside
  session.hidden = !inside
  for (const part of writers) part.hidden = !inside
  said.hidden = true
  if (!inside) statistics.hidden = true
}

function showToken() {
  const token = readToken()
  if (token === null) return
  const { iat, exp } = readClaims(token)
  const kind = renewals === 0 ? 'Token' : `Fresh token (${renewals})`
  line.textContent = `${kind} of ${toTime(iat)}, good until ${toTime(exp)}.`
  // Restarts the animation.
  line.classList.remove('fresh')
  void line.offsetWidth
  line.classList.toggle('fresh', renewals > 0)
  renewAt((iat + exp) / 2)
}

/** A secured answer contains a fresh token in the second half of a token's life: an open page requests one. */
function renewAt(seconds) {
  clearTimeout(renewal)
  const wait = Math.max(seconds * 1000 - Date.now(), 0) + 1000
  renewal = setTimeout(() => {
    // The interceptor sees its answer; the next call will report a failure.
    api.get('/me').then(undefined, () => undefined)
  }, wait)
}

function readToken() {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** Only to show the times: the server decides whether the token is valid. */
function readClaims(token) {
  const [, payload] = token.split('.')
  return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
}

const toTime = (seconds) => new Date(seconds * 1000).toLocaleTimeString('en-GB')
