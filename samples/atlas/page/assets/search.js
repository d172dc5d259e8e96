/** Live search: it waits until the typing pauses, ignores late answers, turns pages, and shows what others change. */
import { messageOf } from './faults.js'
import { markPlace, showCities, showOthers } from './map.js'
import { api } from './server.js'

/** Cities on a page. */
const limit = 20
/** Cities on the map in addition to the page's: as many as the server returns in one response. */
const most = 100
/** Milliseconds without a key press before the search is sent. */
const rest = 200

const form = document.getElementById('search')
const list = document.getElementById('cities')
const summary = document.getElementById('summary')
const fault = document.getElementById('search-fault')
const pages = document.getElementById('pages')
const [previous, next] = [document.getElementById('previous'), document.getElementById('next')]

let offset = 0
let timer = 0
let running = new AbortController()
/** The search whose other cities are on the map. */
let mapped
/** What is in the list, as text; and what ends its changes. */
let shown = ''
let stopFollowing = () => undefined
let names = new Map()
let choose = () => undefined

/**
 * @param {{ code: string, name: string }[]} countries
 * @param {(city: object) => void} onChoose called with the city that was selected in the list
 */
export function startSearch(countries, onChoose) {
  names = new Map(countries.map(({ code, name }) => [code, name]))
  choose = onChoose
  takeUpAddress()
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void searchFrom(0)
  })
  form.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void searchFrom(0), rest)
  })
  previous.addEventListener('click', () => void turnTo(offset - limit))
  next.addEventListener('click', () => void turnTo(offset + limit))
  void searchFrom(offset)
}

/** Loads the same page again, after a city has changed. */
export const searchAgain = () => searchFrom(offset)

async function turnTo(start) {
  await searchFrom(start)
  list.querySelector('button')?.focus()
}

/** @param {number} start the number of cities before the page */
async function searchFrom(start) {
  clearTimeout(timer)
  stopFollowing()
  running.abort()
  running = new AbortController()
  const { signal } = running
  offset = start
  const wish = wanted()
  keepAddress(wish)
  try {
    const began = performance.now()
    const page = await read(wish, { limit, offset }, signal)
    if (signal.aborted) return
    show(page, Math.round(performance.now() - began))
    follow(wish)
    await mapOthers(wish, page, signal)
  } catch (error) {
    if (signal.aborted) return
    show(undefined)
    showOthers([])
    fault.textContent = messageOf(error)
  }
}

/** @returns {Promise<object | undefined>} undefined if the text is too short to search for */
async function read({ q, country }, part, signal) {
  if (q.length > 1) {
    return api.get('/cities', { params: { q, country: country || null, ...part }, signal })
  }
  if (q !== '' || country === '') return undefined
  return api.get('/countries/<code:slug>/cities', { path: { code: country }, params: part, signal })
}

/** Shows the same page again when it changes: by another window, another visitor, another process. */
function follow({ q, country }) {
  const isByName = q.length > 1
  if (!isByName && (q !== '' || country === '')) return
  const params = new URLSearchParams({ ...(isByName ? { q } : {}), limit, offset })
  if (isByName && country !== '') params.set('country', country)
  const path = isByName ? '/cities' : `/countries/${country}/cities`
  stopFollowing = api.live(`${path}?${params}`, (page) => {
    if (JSON.stringify(page) !== shown) show(page)
  })
}

/** The first part of the whole result, the same for all its pages. */
async function mapOthers(wish, page, signal) {
  const name = JSON.stringify(wish)
  if (name === mapped) return
  mapped = undefined
  showOthers([])
  if (page?.total > limit) {
    const { items } = await read(wish, { limit: most, offset: 0 }, signal)
    if (signal.aborted) return
    showOthers(items)
  }
  mapped = name
}

function wanted() {
  const { q, country } = Object.fromEntries(new FormData(form))
  return { q: q.trim(), country }
}

function show(page, took) {
  const { items, total } = page ?? { items: [], total: 0 }
  fault.textContent = ''
  shown = JSON.stringify(page)
  list.replaceChildren(...items.map(toRow))
  markPlace(undefined)
  showCities(items)
  if (page === undefined) {
    summary.textContent = 'Two letters of a name will do; case and accents do not count.'
  } else {
    const count = total === 1 ? '1 city' : `${total.toLocaleString('en')} cities`
    summary.textContent =
      total === 0
        ? 'No city has such a name.'
        : `${count}, ${took === undefined ? 'changed just now' : `found in ${took} ms`}.`
  }
  pages.hidden = total <= limit
  previous.disabled = offset === 0
  next.disabled = offset + limit >= total
  document.getElementById('page').textContent = `${offset + 1}–${offset + items.length}`
}

function toRow(city) {
  const row = document.createElement('li')
  const button = document.createElement('button')
  button.type = 'button'
  button.append(
    part('b', city.name),
    part('span', names.get(city.country) ?? city.country),
    part('small', `${city.lat.toFixed(2)}, ${city.lng.toFixed(2)}`),
  )
  button.addEventListener('click', () => {
    list.querySelector('[aria-current]')?.removeAttribute('aria-current')
    button.setAttribute('aria-current', 'true')
    markPlace(city)
    choose(city)
  })
  row.append(button)
  return row
}

function part(name, text) {
  const element = document.createElement(name)
  element.textContent = text
  return element
}

/** The search is in the address, so that it can be bookmarked and shared. */
function keepAddress({ q, country }) {
  const address = new URL(location.href)
  for (const [name, value] of Object.entries({ q, country, offset: offset || '' })) {
    if (value === '') address.searchParams.delete(name)
    else address.searchParams.set(name, value)
  }
  history.replaceState(null, '', address)
}

function takeUpAddress() {
  const { searchParams } = new URL(location.href)
  form.elements.q.value ||= searchParams.get('q') ?? ''
  form.elements.country.value = searchParams.get('country') ?? ''
  offset = Math.max(0, Number.parseInt(searchParams.get('offset') ?? '0', 10) || 0)
}
