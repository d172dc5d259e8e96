/** Uploads a country's picture with a progress bar; the upload can be cancelled. */
import { clearFaults, showFaults } from './faults.js'
import { api } from './server.js'

const form = document.getElementById('picture')
const shown = document.getElementById('shown')
const upload = document.getElementById('upload')
const bar = document.getElementById('sent')
const part = upload.querySelector('output')
const done = form.querySelector('.done')
const route = '/countries/<code:slug>/picture'

let running

export function startPictureForm() {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (running === undefined) void send()
  })
  form.elements.country.addEventListener('change', () => {
    done.textContent = ''
    showPicture()
  })
  document.getElementById('cancel').addEventListener('click', () => running?.abort())
  shown.addEventListener('load', () => (shown.hidden = false))
  shown.addEventListener('error', () => (shown.hidden = true))
}

/** @param {string} code the country of the next picture */
export function choosePictureCountry(code) {
  form.elements.country.value = code
  done.textContent = ''
  showPicture()
}

async function send() {
  clearFaults(form)
  done.textContent = ''
  const { value: code, selectedOptions } = form.elements.country
  if (code === '') {
    showFaults(form, toFault('country', 'choose a country'))
    return
  }
  running = new AbortController()
  show(0)
  upload.hidden = false
  try {
    const body = new FormData()
    for (const file of form.elements.picture.files) body.append('picture', file)
    const options = { path: { code }, signal: running.signal, onProgress: show }
    const { size } = await api.put(route, body, options)
    form.elements.picture.value = ''
    done.textContent = `${selectedOptions[0].text} has a new picture, ${toSize(size)}.`
    showPicture()
  } catch (error) {
    if (running.signal.aborted) done.textContent = 'Called off.'
    else showFaults(form, error)
  } finally {
    upload.hidden = true
    running = undefined
  }
}

/** The message that the server would send, if there is no file to send. */
const toFault = (path, message) => ({ status: 400, data: { errors: [{ path, message }] } })

/** @param {number} sent from 0 to 1 */
function show(sent) {
  bar.value = sent
  part.textContent = `${Math.round(sent * 100)} %`
}

/** If the answer is 404, there is no picture, and the place stays empty. */
function showPicture() {
  const { value: code, selectedOptions } = form.elements.country
  shown.hidden = true
  shown.removeAttribute('src')
  if (code === '') return
  shown.alt = `The picture of ${selectedOptions[0].text}`
  // A new address each time, because a page requests each address only once.
  shown.src = `/countries/${code}/picture?at=${Date.now()}`
}

function toSize(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`
}
