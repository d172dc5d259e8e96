/** The page: signs in, lists tickets, adds and ticks them. `api` is the browser client of /filigree.js. */
const { api } = window
api.configure({ auth: true })

const find = (id) => document.getElementById(id)
const say = (text) => {
  find('message').textContent = text
}

/** Runs an action and tells what went wrong. */
async function run(action) {
  say('')
  try {
    await action()
  } catch (error) {
    if (error.status === 401 && !find('desk').hidden) show(false)
    say(error.data?.error ?? error.message)
  }
}

function show(signedIn) {
  find('sign-in').hidden = signedIn
  find('desk').hidden = !signedIn
}

async function list() {
  const tickets = await api.get('/tickets', { params: { orderBy: '-id', limit: 100 } })
  show(true)
  find('tickets').replaceChildren(...tickets.map(toItem))
}

function toItem({ id, title, done }) {
  const item = document.createElement('li')
  const label = document.createElement('label')
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: done })
  box.addEventListener('change', () =>
    run(async () => {
      await api.patch('/tickets/<id>', { done: box.checked }, { path: { id } })
      await list()
    }),
  )
  label.style.display = 'block'
  label.className = done ? 'done' : ''
  label.append(box, ` ${title}`)
  item.append(label)
  return item
}

find('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  const body = Object.fromEntries(new FormData(event.target))
  void run(async () => {
    await api.post(event.submitter.value, body)
    event.target.reset()
    await list()
  })
})
find('add').addEventListener('submit', (event) => {
  event.preventDefault()
  void run(async () => {
    await api.post('/tickets', Object.fromEntries(new FormData(event.target)))
    event.target.reset()
    await list()
  })
})
find('sign-out').addEventListener('click', () => {
  localStorage.removeItem('app_token')
  location.reload()
})

if (localStorage.getItem('app_token') !== null) void run(list)
