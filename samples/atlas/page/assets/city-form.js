/** The form that adds a city, or changes the selected one. The server checks its values. */
import { clearFaults, showFaults } from './faults.js'
import { markPlace } from './map.js'
import { api } from './server.js'

const form = document.getElementById('city')
const title = document.getElementById('city-title')
const save = document.getElementById('save')
const leave = document.getElementById('leave')
const done = form.querySelector('.done')
/** The limit in the style sheet. */
const narrow = matchMedia('(max-width: 52rem)')

/** The city that is being changed; undefined while one is added. */
let edited
let sending = false

/** @param {() => Promise<void>} onSaved called when the server has the city */
export function startCityForm(onSaved) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void send(onSaved)
  })
  leave.addEventListener('click', () => {
    fill(undefined)
    form.elements.name.focus()
  })
}

/** @param {object | undefined} city undefined empties the form for a new city */
export function editCity(city) {
  done.textContent = ''
  fill(city)
  // In a single column it is below the list, out of sight.
  if (narrow.matches && form.closest('[hidden]') === null) {
    title.focus()
    title.scrollIntoView()
  }
}

/** @param {{ lat: number, lng: number }} place pointed at on the map */
export function placeCity({ lat, lng }) {
  if (form.closest('[hidden]') !== null) return
  form.elements.lat.value = lat
  form.elements.lng.value = lng
  markPlace({ lat, lng, name: form.elements.name.value })
}

async function send(onSaved) {
  if (sending) return
  clearFaults(form)
  done.textContent = ''
  sending = true
  try {
    const city = await (edited === undefined ? add() : change(edited))
    const word = edited === undefined ? 'Added' : 'Changed'
    fill(edited === undefined ? undefined : city)
    done.textContent = `${word} ${city.name}.`
    await onSaved()
    markPlace(city)
  } catch (error) {
    showFaults(form, error)
  } finally {
    sending = false
  }
}

const add = () => api.post('/cities', readCity())

function change({ id, ...before }) {
  // Only fields that have changed, so that two people can change different fields of a city.
  const changes = Object.entries(readCity()).filter(([name, value]) => value !== before[name])
  return api.patch('/cities/<id:int>', Object.fromEntries(changes), { path: { id } })
}

/** Numbers as numbers, and other texts as typed: the server's answer names the field. */
function readCity() {
  const { name, lat, lng, country } = Object.fromEntries(new FormData(form))
  return { name, lat: toNumber(lat), lng: toNumber(lng), country: country || undefined }
}

function toNumber(text) {
  if (text.trim() === '') return undefined
  const number = Number(text.replace(',', '.'))
  return Number.isNaN(number) ? text : number
}

function fill(city) {
  clearFaults(form)
  edited = city
  for (const name of ['name', 'lat', 'lng', 'country']) {
    form.elements.namedItem(name).value = city?.[name] ?? ''
  }
  title.textContent = city === undefined ? 'Add a city' : `Edit ${city.name}`
  save.textContent = city === undefined ? 'Add' : 'Save'
  leave.hidden = city === undefined
}
