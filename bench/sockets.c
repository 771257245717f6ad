/* What a small request costs a server by epoll, by epoll with some polling before it sleeps, and by
   io_uring with multishot receives: a server that answers each request with a few bytes and does
   nothing else, beside a client with many connections that asks at a rate, one connection after the
   other. It prints the server's processor time for each answer.

       cc -O2 -Wall -o sockets bench/sockets.c
       ./sockets epoll 9000 5333 10 && ./sockets polled:20 9000 5333 10 && ./sockets uring 9000 5333 10

   The arguments: which way (and for how many microseconds it polls), connections, requests a second
   of all of them, seconds. What came of it is in docs/operating/benchmarks.md. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST = 100, ANSWER = 40, EVENTS = 256, MOST = 1 << 16 };
/* Entries of the rings; buffers that receives take, and their size. */
enum { SQES = 256, CQES = 1 << 15, BUFFERS = 4096, BUFFER = 512, GROUP = 1 };

static char answer[ANSWER];
static long answered;

static void check(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static double spent(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* When counting begins and ends, in seconds of `now`; what had been spent and answered when it
   began. */
static double begins, ends, counted;
static long before;

/* Gives whether the server is to go on. */
static int count(double seconds) {
    double at = now();
    if (!ends) {
        begins = at + 3;
        ends = begins + seconds;
    }
    if (at >= begins && !counted) {
        counted = spent();
        before = answered;
    }
    return at < ends;
}

/* Waits for sockets, at first without sleeping for so many microseconds. */
static int wait_for(int poll, struct epoll_event *events, double micros) {
    for (double until = now() + micros / 1e6; micros > 0 && now() < until;) {
        int come = epoll_wait(poll, events, EVENTS, 0);
        if (come != 0) {
            return come;
        }
    }
    return epoll_wait(poll, events, EVENTS, 100);
}

static void serve_by_epoll(int *sockets, int connections, double seconds, double micros) {
    int poll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        struct epoll_event wanted = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u32 = i};
        check(fcntl(sockets[i], F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
        check(epoll_ctl(poll, EPOLL_CTL_ADD, sockets[i], &wanted) == 0, "epoll_ctl");
    }
    static char buffer[1 << 16];
    struct epoll_event events[EVENTS];
    while (count(seconds)) {
        int come = wait_for(poll, events, micros);
        for (int i = 0; i < come; i++) {
            int socket = sockets[events[i].data.u32];
            long read = recv(socket, buffer, sizeof buffer, 0);
            if (read <= 0) {
                continue;
            }
            struct iovec pieces[] = {{answer, ANSWER / 2}, {answer + ANSWER / 2, ANSWER / 2}};
            struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
            check(sendmsg(socket, &message, MSG_NOSIGNAL) == ANSWER, "sendmsg");
            answered += 1;
        }
    }
}

/* A ring, as the kernel shares it. */
static struct {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask, unsubmitted;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
    struct io_uring_buf_ring *buffers;
    char *bytes;
} ring;

static void give_buffer(unsigned id) {
    unsigned short tail = ring.buffers->tail;
    struct io_uring_buf *place = &ring.buffers->bufs[tail & (BUFFERS - 1)];
    place->addr = (unsigned long)(ring.bytes + id * BUFFER);
    place->len = BUFFER;
    place->bid = id;
    atomic_store_explicit((_Atomic unsigned short *)&ring.buffers->tail, tail + 1, memory_order_release);
}

static void set_up(void) {
    struct io_uring_params how = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE, .cq_entries = CQES};
    ring.fd = syscall(SYS_io_uring_setup, SQES, &how);
    check(ring.fd >= 0, "io_uring_setup");
    size_t size = how.cq_off.cqes + how.cq_entries * sizeof(struct io_uring_cqe);
    char *rings = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQ_RING);
    check(rings != MAP_FAILED, "the rings");
    ring.sqes = mmap(0, how.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQES);
    check(ring.sqes != MAP_FAILED, "the entries");
    ring.sq_tail = (unsigned *)(rings + how.sq_off.tail);
    ring.sq_mask = (unsigned *)(rings + how.sq_off.ring_mask);
    ring.sq_array = (unsigned *)(rings + how.sq_off.array);
    ring.cq_head = (unsigned *)(rings + how.cq_off.head);
    ring.cq_tail = (unsigned *)(rings + how.cq_off.tail);
    ring.cq_mask = (unsigned *)(rings + how.cq_off.ring_mask);
    ring.cqes = (struct io_uring_cqe *)(rings + how.cq_off.cqes);
    ring.buffers = mmap(0, BUFFERS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    ring.bytes = malloc(BUFFERS * BUFFER);
    check(ring.buffers != MAP_FAILED && ring.bytes, "memory for the buffers");
    struct io_uring_buf_reg about = {.ring_addr = (unsigned long)ring.buffers, .ring_entries = BUFFERS, .bgid = GROUP};
    check(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PBUF_RING, &about, 1) == 0, "the buffers");
    for (unsigned id = 0; id < BUFFERS; id++) {
        give_buffer(id);
    }
}

static void enter(unsigned least, struct __kernel_timespec *patience) {
    struct io_uring_getevents_arg how = {.ts = (unsigned long)patience};
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    long done = syscall(SYS_io_uring_enter, ring.fd, ring.unsubmitted, least, flags, &how, sizeof how);
    /* It says how many went in, or, where none did, why it does not wait. */
    int is_over = done < 0 && (errno == ETIME || errno == EINTR);
    check(done == ring.unsubmitted || (is_over && ring.unsubmitted == 0), "io_uring_enter");
    ring.unsubmitted = 0;
}

static struct io_uring_sqe *next_entry(void) {
    if (ring.unsubmitted == SQES) {
        struct __kernel_timespec none = {0};
        enter(0, &none);
    }
    unsigned tail = *ring.sq_tail, place = tail & *ring.sq_mask;
    struct io_uring_sqe *entry = &ring.sqes[place];
    memset(entry, 0, sizeof *entry);
    ring.sq_array[place] = place;
    atomic_store_explicit((_Atomic unsigned *)ring.sq_tail, tail + 1, memory_order_release);
    ring.unsubmitted += 1;
    return entry;
}

static void receive(int socket, unsigned number) {
    struct io_uring_sqe *entry = next_entry();
    entry->opcode = IORING_OP_RECV;
    entry->fd = socket;
    entry->ioprio = IORING_RECV_MULTISHOT;
    entry->flags = IOSQE_BUFFER_SELECT;
    entry->buf_group = GROUP;
    entry->user_data = number;
}

static void serve_by_uring(int *sockets, int connections, double seconds) {
    set_up();
    for (int i = 0; i < connections; i++) {
        receive(sockets[i], i);
    }
    const unsigned long sent = 1UL << 32;
    struct __kernel_timespec patience = {.tv_nsec = 100000000};
    while (count(seconds)) {
        enter(1, &patience);
        unsigned head = *ring.cq_head, tail = atomic_load_explicit((_Atomic unsigned *)ring.cq_tail, memory_order_acquire);
        for (; head != tail; head++) {
            struct io_uring_cqe *done = &ring.cqes[head & *ring.cq_mask];
            if (done->user_data >= sent) {
                check(done->res == ANSWER, "send");
                continue;
            }
            unsigned number = done->user_data;
            if (done->flags & IORING_CQE_F_BUFFER) {
                give_buffer(done->flags >> IORING_CQE_BUFFER_SHIFT);
            }
            if (done->res > 0) {
                struct io_uring_sqe *entry = next_entry();
                entry->opcode = IORING_OP_SEND;
                entry->fd = sockets[number];
                entry->addr = (unsigned long)answer;
                entry->len = ANSWER;
                entry->msg_flags = MSG_NOSIGNAL;
                /* That it was sent is of no interest: no entry, unless it failed. */
                entry->flags = IOSQE_CQE_SKIP_SUCCESS;
                entry->user_data = sent | number;
                answered += 1;
            }
            if (!(done->flags & IORING_CQE_F_MORE) && done->res != 0) {
                receive(sockets[number], number);
            }
        }
        atomic_store_explicit((_Atomic unsigned *)ring.cq_head, head, memory_order_release);
    }
}

static void ask(struct sockaddr_in *where, int connections, double rate) {
    static int sockets[MOST];
    int poll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(sockets[i], (struct sockaddr *)where, sizeof *where) == 0, "connect");
        int on = 1;
        setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data.fd = sockets[i]};
        check(epoll_ctl(poll, EPOLL_CTL_ADD, sockets[i], &wanted) == 0, "epoll_ctl");
        fcntl(sockets[i], F_SETFL, O_NONBLOCK);
    }
    static char bytes[1 << 12];
    struct epoll_event events[EVENTS];
    double due = now() + 1;
    for (int next = 0;; next = (next + 1) % connections, due += 1 / rate) {
        for (double left; (left = due - now()) > 0;) {
            struct timespec patience = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (time_t)left) * 1e9)};
            int come = epoll_pwait2(poll, events, EVENTS, &patience, 0);
            for (int i = 0; i < come; i++) {
                if (recv(events[i].data.fd, bytes, sizeof bytes, 0) == 0) {
                    exit(0);
                }
            }
        }
        if (send(sockets[next], bytes, REQUEST, MSG_NOSIGNAL) != REQUEST) {
            exit(0);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: sockets epoll|polled:MICROSECONDS|uring CONNECTIONS REQUESTS-A-SECOND SECONDS\n");
        return 2;
    }
    int connections = atoi(argv[2]);
    check(connections > 0 && connections <= MOST, "connections");
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(listener, (struct sockaddr *)&where, size) == 0 && listen(listener, 4096) == 0, "listen");
    getsockname(listener, (struct sockaddr *)&where, &size);
    pid_t client = fork();
    if (client == 0) {
        close(listener);
        ask(&where, connections, atof(argv[3]));
    }
    static int sockets[MOST];
    for (int i = 0; i < connections; i++) {
        sockets[i] = accept(listener, 0, 0);
        check(sockets[i] >= 0, "accept");
        int on = 1;
        setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (strcmp(argv[1], "uring") == 0) {
        serve_by_uring(sockets, connections, atof(argv[4]));
    } else {
        const char *micros = strchr(argv[1], ':');
        serve_by_epoll(sockets, connections, atof(argv[4]), micros ? atof(micros + 1) : 0);
    }
    double took = spent() - counted;
    long all = answered - before;
    printf("%s: %ld answers, %.1f us of a processor each, %.3f of a processor\n", argv[1], all, took / all * 1e6, took / atof(argv[4]));
    kill(client, SIGKILL);
    return 0;
}
