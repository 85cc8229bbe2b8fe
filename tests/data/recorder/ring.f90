program ring
{use}
implicit none
{include}
integer :: error, rank, ranks, up, down, at, round
logical :: is_done
double precision :: a(100), b(100)
{request} :: q(2)
{communicator} :: part
call MPI_Init(error)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
up = mod(rank + 1, ranks)
down = mod(rank + ranks - 1, ranks)
a = 0
call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, part, error)
call MPI_Irecv(b, 10, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, q(1), error)
call MPI_Isend(a, 10, MPI_DOUBLE_PRECISION, up, 5, MPI_COMM_WORLD, q(2), error)
call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, error)
call MPI_Send_init(a, 20, MPI_DOUBLE_PRECISION, up, 6, MPI_COMM_WORLD, q(1), error)
call MPI_Recv_init(b, 20, MPI_DOUBLE_PRECISION, down, 6, MPI_COMM_WORLD, q(2), error)
do round = 1, 2
call MPI_Startall(2, q, error)
call MPI_Waitany(2, q, at, MPI_STATUS_IGNORE, error)
call MPI_Waitany(2, q, at, MPI_STATUS_IGNORE, error)
end do
call MPI_Request_free(q(1), error)
call MPI_Request_free(q(2), error)
call MPI_Sendrecv(a, 30, MPI_DOUBLE_PRECISION, up, 7, b, 30, MPI_DOUBLE_PRECISION, down, 7, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
call MPI_Bcast(a, 40, MPI_DOUBLE_PRECISION, 1, part, error)
call MPI_Allreduce(a, b, 50, MPI_DOUBLE_PRECISION, MPI_SUM, part, error)
call MPI_Iallreduce(a, b, 60, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, q(1), error)
is_done = .false.
do while (.not. is_done)
call MPI_Test(q(1), is_done, MPI_STATUS_IGNORE, error)
end do
call MPI_Comm_free(part, error)
call MPI_Finalize(error)
end program
